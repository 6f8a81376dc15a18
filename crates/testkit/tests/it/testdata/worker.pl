#!/usr/bin/env perl
# Stands in for the worker binary: takes `standalone worker.properties …`, answers /health and echoes
# other requests, ends on SIGTERM with status 0. With `fail=true` it ends at once with status 3.
use strict;
use warnings;
use IO::Socket::INET;

my ($command, @files) = @ARGV;
die "usage: standalone FILE…\n" unless $command eq 'standalone' && @files;
my %settings;
for my $file (@files) {
  open my $in, '<', $file or die "$file: $!\n";
  while (<$in>) { chomp; my ($key, $value) = split /=/, $_, 2; $settings{$key} = $value }
}
$| = 1;
print "started with $settings{name} and $ENV{STAND_IN}\n";
exit 3 if $settings{fail};
$SIG{TERM} = sub { print "stopping\n"; exit 0 };
my ($address) = $settings{listeners} =~ m{^http://(.*)$} or die "listeners\n";
my $server = IO::Socket::INET->new(LocalAddr => $address, Listen => 5, ReuseAddr => 1) or die "$address: $!\n";
while (my $client = $server->accept) {
  my ($method, $path) = split ' ', scalar <$client>;
  my $length = 0;
  while (my $line = <$client>) {
    $length = $1 if $line =~ /^content-length: *(\d+)/i;
    last if $line =~ /^\r?\n$/;
  }
  read $client, my $body, $length;
  my $status = $path eq '/none' ? '404 Not Found' : '200 OK';
  my $answer = "$method $path $body";
  if ($path eq '/chunked') {
    printf $client "HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", $status, length $answer, $answer;
  } else {
    printf $client "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", $status, length $answer, $answer;
  }
  close $client;
}
