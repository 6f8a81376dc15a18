# Shared by the scripts beside it: finds or installs what the tests need. Sourced, never run.
# Callers have set -euo pipefail and ROOT (the top folder of the repository).

KAFKA_VERSION=4.4.0
# Apicurio Registry, which speaks Confluent's interface; the older one where there is no Java 21.
REGISTRY_VERSION=3.3.3
REGISTRY_VERSION_JAVA_17=2.6.13.Final

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# Debian packages that a missing tool comes from, collected by need_* and installed once.
MISSING=()

have() { command -v "$1" >/dev/null 2>&1; }

need() { # need COMMAND PACKAGE
  have "$1" || MISSING+=("$2")
}

java_major() { # prints the major version of the java given, or 0
  local line
  line=$("$1" -version 2>&1 | head -n 1) || { echo 0; return; }
  line=${line#*\"}
  line=${line%%[.\"-]*}
  case $line in '' | *[!0-9]*) echo 0 ;; *) echo "$line" ;; esac
}

find_java() { # find_java [MAJOR]: prints a java of that version or newer, 17 unless given
  local java
  for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    if [ -n "$java" ] && [ -x "$java" ] && [ "$(java_major "$java")" -ge "${1:-17}" ]; then
      echo "$java"
      return
    fi
  done
  return 1
}

find_pg_bin() { # prints the folder of the newest PostgreSQL (13 or newer) server programs
  local dir best='' best_major=0 major
  for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
    "$(pg_config --bindir 2>/dev/null || true)" "$(dirname "$(command -v postgres || echo /none/x)")"; do
    { [ -n "$dir" ] && [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; } || continue
    major=$("$dir/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/') || continue
    case $major in '' | *[!0-9]*) continue ;; esac
    if [ "$major" -ge 13 ] && [ "$major" -gt "$best_major" ]; then
      best=$dir best_major=$major
    fi
  done
  [ -n "$best" ] && echo "$best"
}

install_missing() { # installs what MISSING lists where that is possible, else says how
  [ ${#MISSING[@]} -gt 0 ] || return 0
  if [ "$(id -u)" = 0 ] && have apt-get; then
    say "installing ${MISSING[*]}"
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${MISSING[@]}"; } \
      </dev/null >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      die "could not install ${MISSING[*]}; install them by hand and run this again"
    fi
    rm -f "$log"
    MISSING=()
  else
    say "these Debian packages (or the same programs from elsewhere) are missing: ${MISSING[*]}"
    die "install them, for example with: sudo apt-get install ${MISSING[*]}"
  fi
}

test_cache() {
  echo "${COPYCAT_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/copycat-test}"
}

kafka_libs_dir() { echo "$(test_cache)/kafka-$KAFKA_VERSION"; }

connect_libs_dir() { # names the list of jars, so that another list is another folder
  echo "$(test_cache)/connect-$(cksum <"$ROOT/scripts/connect/pom.xml" | cut -d ' ' -f 1)"
}

registry_version() {
  if find_java 21 >/dev/null; then echo "$REGISTRY_VERSION"; else echo "$REGISTRY_VERSION_JAVA_17"; fi
}

registry_dir() { echo "$(test_cache)/registry-$(registry_version)"; }

need_server_tools() { # lists what starting the servers lacks
  find_java >/dev/null || MISSING+=(default-jre-headless)
  find_pg_bin >/dev/null || MISSING+=(postgresql)
  have pgbouncer || [ -x /usr/sbin/pgbouncer ] || MISSING+=(pgbouncer)
  { [ -e "$(kafka_libs_dir)/complete" ] && [ -e "$(registry_dir)/complete" ] &&
    [ -e "$(connect_libs_dir)/complete" ]; } || need mvn maven
  need perl perl
  python3 -c 'import ensurepip, venv' 2>/dev/null || MISSING+=(python3-venv)
  need ps procps
  need flock util-linux
}

need_build_tools() { # lists what building lacks, and points the build at a system OpenSSL
  have cargo || die "cargo is missing; install Rust $(rust_version) or newer"
  local cargo_version
  cargo_version=$(cargo --version | cut -d ' ' -f 2)
  [ "$(printf '%s\n' "$(rust_version)" "${cargo_version%%-*}" | sort -V | head -n 1)" = "$(rust_version)" ] ||
    die "Rust $(rust_version) or newer is needed, this is $cargo_version; run: rustup update stable"
  cargo fmt --version >/dev/null 2>&1 || die "rustfmt is missing; run: rustup component add rustfmt"
  cargo clippy --version >/dev/null 2>&1 || die "clippy is missing; run: rustup component add clippy"
  have cc || MISSING+=(gcc libc6-dev)
  # librdkafka asks for a C++ compiler, for a part that is not linked. Without one, leave it out.
  have c++ || have g++ || have clang++ ||
    export CXX="${CXX:-cc}" GNUMAKEFLAGS="${GNUMAKEFLAGS:-} LIBSUBDIRS=src"
  need make make
  need perl perl
  # With these two the build links the system's OpenSSL, which saves minutes. They are not a must.
  if [ "$(id -u)" = 0 ] && have apt-get; then
    need pkg-config pkg-config
    { have pkg-config && pkg-config --exists openssl; } || MISSING+=(libssl-dev)
  fi
}

use_system_openssl() {
  if [ -z "${OPENSSL_NO_VENDOR:-}" ] && have pkg-config && pkg-config --atleast-version=1.1.1 openssl; then
    export OPENSSL_NO_VENDOR=1
  fi
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml"; }

fetch_jars() { # fetch_jars FOLDER NAME LIBS [ARTIFACT]: copies the jars of scripts/FOLDER/pom.xml into
  # LIBS, once a machine, and one that is to stand behind them in the class path into LIBS/behind
  local libs=$3 part
  [ -e "$libs/complete" ] && return
  say "fetching $2 into $libs"
  mkdir -p "$(dirname "$libs")"
  part=$(mktemp -d "$libs.XXXXXX")
  mvn -q -B -f "$ROOT/scripts/$1/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$part" </dev/null >&2 ||
    { rm -rf "$part"; die "Maven could not fetch $2"; }
  [ -z "${4:-}" ] || mvn -q -B dependency:copy -Dartifact="$4" -DoutputDirectory="$part/behind" </dev/null >&2 ||
    { rm -rf "$part"; die "Maven could not fetch $4"; }
  touch "$part/complete"
  # Another run may have been first; both copies are the same.
  mv -T "$part" "$libs" 2>/dev/null || rm -rf "$part"
  [ -e "$libs/complete" ] || die "$libs is incomplete; remove it and run this again"
}

fetch_kafka() { fetch_jars kafka "Apache Kafka $KAFKA_VERSION" "$(kafka_libs_dir)"; }

fetch_connect() { # the older clients have a class that the older connectors need and the newer clients lack
  fetch_jars connect "Kafka Connect $KAFKA_VERSION" "$(connect_libs_dir)" org.apache.kafka:kafka-clients:4.3.1
}

fetch_registry() { # unpacks Apicurio Registry into the cache, once a machine
  local dir version part
  dir=$(registry_dir) version=$(registry_version)
  [ -e "$dir/complete" ] && return
  say "fetching Apicurio Registry $version into $dir"
  mkdir -p "$(dirname "$dir")"
  part=$(mktemp -d "$dir.XXXXXX")
  mvn -q -B dependency:copy -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all" \
    -DoutputDirectory="$part" </dev/null >&2 && tar -xzf "$part"/*.tar.gz -C "$part" && rm -f "$part"/*.tar.gz ||
    { rm -rf "$part"; die "Maven could not fetch Apicurio Registry $version"; }
  touch "$part/complete"
  # Another run may have been first; both copies are the same.
  mv -T "$part" "$dir" 2>/dev/null || rm -rf "$part"
  [ -e "$dir/complete" ] || die "$dir is incomplete; remove it and run this again"
}

# Ports outside the range from which the system takes those of outgoing connections: a client
# that tries a stopped server again and again must not end up connected to itself.
free_ports() { # free_ports N: N different ports of 127.0.0.1 that nobody listens on
  perl -MIO::Socket::INET -e '
    my @held;
    for (1 .. 10000) {
      last if @held == $ARGV[0];
      my $port = 12000 + int(rand(20000));
      my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $port);
      push @held, $socket if $socket;
    }
    exit 1 if @held < $ARGV[0];
    print join(" ", map { $_->sockport } @held), "\n";' "$1"
}

# A process is ours when its command line names the folder that was made for it: a pid alone may
# have been given to another process since.
is_ours() { # is_ours PID FOLDER
  local args
  args=$(ps -ww -o args= -p "$1" 2>/dev/null) || return 1
  case $args in *"$2"*) return 0 ;; *) return 1 ;; esac
}

end_process() { # end_process PID FOLDER SIGNAL: asks, waits 20 s, then kills
  is_ours "$1" "$2" || return 0
  kill "-$3" "$1" 2>/dev/null || return 0
  kill -CONT "$1" 2>/dev/null || true
  local i
  for i in $(seq 200); do
    is_ours "$1" "$2" || return 0
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
}

python_venv() { # python_venv [LIST]: prints the folder of the virtual environment with these packages,
  # those of scripts/python/requirements.txt unless given
  local list="${1:-$ROOT/scripts/python/requirements.txt}" venv mark
  mark=$(cksum <"$list" | cut -d ' ' -f 1)
  venv=$(dirname "$(kafka_libs_dir)")/python-$mark
  if [ ! -e "$venv/complete" ]; then
    have python3 || die "python3 is missing; install it with its module venv (Debian: python3-venv)"
    mkdir -p "$(dirname "$venv")"
    # A virtual environment cannot be moved, so whoever comes second waits.
    (
      flock 9
      [ -e "$venv/complete" ] && exit
      say "installing ${list#"$ROOT/"} from PyPI into $venv"
      rm -rf "$venv"
      python3 -m venv "$venv" >&2 || die "python3 has no module venv (Debian: python3-venv)"
      "$venv/bin/pip" install -q --disable-pip-version-check -r "$list" </dev/null >&2 ||
        die "pip could not install $list"
      touch "$venv/complete"
    ) 9>"$venv.lock"
  fi
  echo "$venv"
}
