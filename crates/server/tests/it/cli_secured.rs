//! Commands against a worker that speaks TLS alone and wants a login, and against one that means no good.

use super::{
    cli::{Terminal, Told},
    harness::{PATIENCE, worker},
};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use testkit::{
    eventually, free_port,
    kafka::{self, STORE_PASSWORD, tls_file},
};

/// Of the password hunter2.
const HASH: &str = "$2b$05$lfQWaclPuxFv4Al9RS3Gqu51TuNQgypVJ3/ENEQ71f68dOAE0lWk2";

#[test]
fn logins_and_authorities_come_from_the_context_the_environment_or_the_command() {
    let address = format!("127.0.0.1:{}", free_port());
    let url = format!("https://{address}");
    let terminal = Terminal::at(&address);
    let users = terminal.file("users", &format!("ann:{HASH}:admin\nbob:{HASH}:read-only\n"));
    let worker = worker(&kafka::bootstrap())
        .worker("listeners", &url)
        .worker("ssl.keystore.location", &tls_file("broker.p12"))
        .worker("ssl.keystore.password", STORE_PASSWORD)
        .worker("copycat.rest.users.file", &users)
        .launch();
    let ca = tls_file("ca.pem");
    let run = |line: &str, env: &[(&str, &str)]| -> Told {
        terminal.with(&line.split(' ').collect::<Vec<_>>(), env, "")
    };
    let secret = terminal.file("secret", "hunter2\n");
    let set = format!(
        "config set-context safe --url {url} --ca-file {ca} --username ann --password file:{secret}"
    );
    run(&set, &[]).expect(0);
    let info = eventually(PATIENCE, "the worker answers", || {
        let told = run("info", &[]);
        (told.code == 0).then_some(told.out)
    });
    assert!(info.contains(&format!("URL:               {url}")), "{info}");
    run("patch logger root -l INFO", &[]).expect(0);

    // What is named at the command wins over the environment, and that over the context.
    let bob = [("COPYCAT_USERNAME", "bob"), ("BOBS", "hunter2"), ("COPYCAT_PASSWORD", "env:BOBS")];
    run("get connectors", &bob).expect(0);
    let refused = run("patch logger root -l INFO", &bob).expect(2);
    assert!(refused.err.contains("hint: "), "{}", refused.err);
    run("patch logger root -l INFO --username ann", &bob).expect(0);

    let wrong = run("info --password hunter3", &[]).expect(2);
    assert!(wrong.err.contains("wants a login") && wrong.err.contains("hint: "), "{}", wrong.err);
    assert!(!wrong.err.contains("hunter3"), "{}", wrong.err);
    let stranger = run(&format!("info --url {url} --ca-file {}", tls_file("other-ca.pem")), &[]);
    let stranger = stranger.expect(3);
    assert!(stranger.err.contains("--ca-file"), "{}", stranger.err);
    let plain = run(&format!("info --url http://{address}"), &[]).expect(3);
    assert!(plain.err.contains("write https://"), "{}", plain.err);
    run(&format!("info --url https://ann@{address} --password hunter2"), &[("HOME", "/")])
        .expect(3);
    let named = format!("info --url https://ann@{address} --password hunter2 --ca-file {ca}");
    run(&named, &[("HOME", "/")]).expect(0);
    let nothing = run(&format!("info --ca-file {users}"), &[]).expect(2);
    assert!(nothing.err.contains("no certificate"), "{}", nothing.err);
    assert!(!worker.logs().contains("hunter2"));
}

/// Answers every request with words that would steer a terminal.
fn hostile(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut reader = BufReader::new(stream.expect("a client"));
        let mut first = String::new();
        reader.read_line(&mut first).expect("a request");
        if first.starts_with("END") {
            return;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).expect("headers") > 2 {
            line.clear();
        }
        let evil = r"\u001b]0;evil\u0007\u009b2J\r";
        let status = if first.starts_with("GET / ") { "200 OK" } else { "400 Bad Request" };
        let body = format!(r#"{{"version":"1{evil}","message":"m{evil}","hint":"h{evil}"}}"#);
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close");
        let _gone = write!(reader.get_mut(), "{head}\r\n\r\n{body}");
    }
}

#[test]
fn words_of_a_worker_do_not_steer_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = thread::spawn(move || hostile(&listener));
    let terminal = Terminal::at(&address);
    let info = terminal.run("info").expect(0);
    let refused = terminal.run("get connectors").expect(2);
    for text in [&info.out, &refused.err] {
        assert!(text.contains("evil"), "{text:?}");
        let controls = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(controls), "{text:?}");
    }
    let mut stream = TcpStream::connect(&address).expect("it listens");
    stream.write_all(b"END\n").expect("it reads");
    server.join().expect("it ends");
}
