//! Commands against a worker that speaks TLS alone and wants a login.

use super::{
    cli::{Terminal, Told},
    harness::{PATIENCE, worker},
};
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
    let nothing = run(&format!("info --ca-file {users}"), &[]).expect(2);
    assert!(nothing.err.contains("no certificate"), "{}", nothing.err);
    assert!(!worker.logs().contains("hunter2"));
}
