//! What `deploy/` says of the binary must be so: variables, keys, commands, ports, paths, files.

use crate::program;
use crate::standalone::{SHUTDOWN_MARGIN, plugins};
use clap::Command;
use config::distributed::DistributedConfig;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::{Config, Props};
use runtime::Worker;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

const KUBERNETES: &str = "deploy/kubernetes";
/// Where the container has the binary.
const INSTALLED: &str = "/usr/local/bin/copycat";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The objects of all manifests, in the order in which the kustomization names their files.
fn objects() -> Vec<Value> {
    let list: Value = serde_saphyr::from_str(&read(&format!("{KUBERNETES}/kustomization.yaml")))
        .expect("the kustomization is YAML");
    let files = list["resources"].as_array().expect("it names files").iter();
    files
        .flat_map(|file| {
            let file = file.as_str().expect("a name");
            let text = read(&format!("{KUBERNETES}/{file}"));
            serde_saphyr::from_multiple::<Value>(&text).unwrap_or_else(|e| panic!("{file}: {e}"))
        })
        .collect()
}

fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|o| o["kind"] == kind && o["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is a {kind} {name}"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} in {value}"))
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {value}"))
}

/// The variables of the worker's container, from its settings and its own list.
fn variables(objects: &[Value], container: &Value) -> BTreeMap<String, String> {
    let settings = object(objects, "ConfigMap", text(container, "/envFrom/0/configMapRef/name"));
    let mut all: BTreeMap<String, String> = settings["data"]
        .as_object()
        .expect("settings")
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().expect("text").to_owned()))
        .collect();
    // A folder that is mounted is there; here another one stands for it.
    let folder = "CONNECT_CONFIG_PROVIDERS_SECRETS_PARAM_ALLOWED_PATHS";
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    assert!(mounts.iter().any(|mount| mount["mountPath"] == all[folder]), "{mounts:?}");
    all.insert(folder.to_owned(), env!("CARGO_MANIFEST_DIR").to_owned());
    for entry in container["env"].as_array().expect("variables") {
        let value = entry.get("value").and_then(Value::as_str).unwrap_or("pod");
        // Kubernetes puts in what stands above in the list.
        let value = all.iter().fold(value.to_owned(), |value, (name, known)| {
            value.replace(&format!("$({name})"), known)
        });
        assert!(!value.contains("$("), "{value} is made of variables that are there");
        all.insert(text(entry, "/name").to_owned(), value);
    }
    all
}

/// The names of all variables that options can be set by.
fn known_variables(command: &Command, known: &mut BTreeSet<String>) {
    let own = command.get_arguments().filter_map(clap::Arg::get_env);
    known.extend(own.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|sub| known_variables(sub, known));
}

/// That a command line is understood; the first word is the binary.
fn understood(words: &[&str]) {
    assert!(words.first().is_some_and(|binary| binary.ends_with("copycat")), "{words:?}");
    let read = program().try_get_matches_from(words);
    assert!(read.is_ok(), "{words:?}: {}", read.unwrap_err());
}

fn words(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list of words").iter();
    list.map(|word| word.as_str().expect("a word")).collect()
}

fn parsed(props: &Props) -> DistributedConfig {
    let config = DistributedConfig::parse(props).unwrap_or_else(|errors| panic!("{errors}"));
    let unknown: Vec<String> = unknown_keys(props, &[&DistributedConfig::def()], &WORKER_PREFIXES)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
    let worker = Worker::new(props.clone(), plugins(), "copycat".to_owned());
    let notices = worker.and_then(|worker| worker.check());
    assert_eq!(notices.unwrap_or_else(|errors| panic!("{errors}")), Vec::<String>::new());
    config
}

/// How long a worker takes at most to end: its tasks, what it says last, clients that are slow.
fn stop_time(config: &DistributedConfig) -> Duration {
    let tasks = Duration::from_millis(config.worker.task_shutdown_graceful_timeout_ms);
    tasks + 2 * SHUTDOWN_MARGIN
}

#[test]
fn the_settings_of_the_manifests_are_keys_and_options() {
    let objects = objects();
    let set = object(&objects, "StatefulSet", "copycat");
    let container = &set["spec"]["template"]["spec"]["containers"][0];
    let variables = variables(&objects, container);
    let mut known = BTreeSet::new();
    known_variables(&program(), &mut known);
    for name in variables.keys().filter(|name| name.starts_with("COPYCAT_")) {
        assert!(known.contains(name), "{name} sets nothing");
    }
    let environment = config::environment::read(variables);
    assert_eq!(environment.without_effect, Vec::<String>::new());
    let config = parsed(&environment.props);
    let host = config.worker.rest.advertised_host_name.as_deref();
    assert_eq!(host, Some("pod.copycat-workers.pod.svc"));
    // The name exists where the service that gives it has the set's pods, ready or not.
    assert_eq!(text(set, "/spec/serviceName"), "copycat-workers");
    let service = object(&objects, "Service", "copycat-workers");
    assert_eq!(service["spec"]["clusterIP"], "None");
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    for (kind, name, selector) in [
        ("Service", "copycat-workers", "/spec/selector"),
        ("Service", "copycat", "/spec/selector"),
        ("PodDisruptionBudget", "copycat", "/spec/selector/matchLabels"),
        ("StatefulSet", "copycat", "/spec/selector/matchLabels"),
    ] {
        let wanted = object(&objects, kind, name).pointer(selector);
        assert_eq!(wanted, set.pointer("/spec/template/metadata/labels"), "{kind} {name}");
    }
}

#[test]
fn the_container_of_the_manifests_is_asked_where_it_answers_and_stopped_in_time() {
    let objects = objects();
    let set = object(&objects, "StatefulSet", "copycat");
    let pod = &set["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let args = [vec!["copycat"], words(&container["args"])].concat();
    understood(&args);
    assert_eq!(container["ports"][0]["name"], "rest");
    assert_eq!(number(container, "/ports/0/containerPort"), 8083, "where a worker listens");
    let routes = rest::reference_page();
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let asked = &container[probe]["httpGet"];
        assert_eq!(asked["port"], "rest", "{probe}");
        let route = format!("| `GET {}` |", text(asked, "/path"));
        assert!(routes.contains(&route), "{probe}: {route}");
    }
    let metrics = &set["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"];
    assert!(routes.contains(&format!("| `GET {}` |", metrics.as_str().unwrap())), "{metrics}");
    let hook = words(&container["lifecycle"]["preStop"]["exec"]["command"]);
    assert_eq!(hook[0], INSTALLED, "there is no shell to find it");
    understood(&hook);
    let timeout = hook.iter().position(|word| *word == "--timeout").expect("it ends by itself");
    let drain = Duration::from_secs(hook[timeout + 1].parse().unwrap());
    let config = parsed(&config::environment::read(variables(&objects, container)).props);
    let grace = Duration::from_secs(number(pod, "/terminationGracePeriodSeconds"));
    assert!(grace >= drain + stop_time(&config), "{grace:?}");
    assert_eq!(pod["enableServiceLinks"], false, "no variable of ours is made of a service");
    for mount in container["volumeMounts"].as_array().expect("mounts") {
        let volumes = pod["volumes"].as_array().expect("volumes");
        assert!(volumes.iter().any(|volume| volume["name"] == mount["name"]), "{mount}");
    }
}

/// The instructions of a container file, each with its continuations joined.
fn instructions(file: &str) -> Vec<(String, String)> {
    let joined = file.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').expect("an instruction has arguments");
            (word.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

#[test]
fn the_container_file_builds_what_the_readme_builds_and_runs_it() {
    let file = instructions(&read("deploy/Containerfile"));
    let all = |word: &str| -> Vec<&str> {
        file.iter().filter(|(w, _)| w == word).map(|(_, rest)| rest.as_str()).collect()
    };
    let ignore = read("deploy/Containerfile.dockerignore");
    let mut built = BTreeSet::new();
    for copy in all("COPY") {
        let mut parts: Vec<&str> = copy.split_whitespace().collect();
        let target = parts.pop().expect("a target");
        if parts.first().is_some_and(|part| part.starts_with("--from=build")) {
            assert_eq!(parts[1..], ["/out/bin/copycat"]);
            assert_eq!(target, INSTALLED);
            continue;
        }
        for source in parts {
            assert!(
                root().join(source).try_exists().is_ok_and(|there| there),
                "{source} is there to be copied"
            );
            assert!(ignore.lines().any(|line| line == format!("!{source}")), "{source} is sent");
            built.insert(source);
        }
    }
    assert!(built.contains("Cargo.lock"), "the locked versions are built");
    let build = "cargo install --path crates/server --locked";
    assert!(read("README.md").contains(build));
    assert!(all("RUN").iter().any(|run| run.starts_with(build) && run.ends_with("--root /out")));
    let manifest = read("Cargo.toml");
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    let rust = rust.expect("the manifest names a Rust").trim_end_matches('"');
    assert!(all("FROM")[0].contains(&format!("/rust:{rust}-")), "{:?}", all("FROM"));
    let user: u32 = all("USER")[0].split(':').next().unwrap().parse().unwrap();
    assert_ne!(user, 0);
    assert_eq!(all("EXPOSE"), ["8083"]);
    let list = |text: &str| -> Vec<String> { serde_json::from_str(text).expect("the exec form") };
    let entry = list(all("ENTRYPOINT")[0]);
    assert_eq!(entry, [INSTALLED]);
    let command = [entry, list(all("CMD")[0])].concat();
    let check = all("HEALTHCHECK")[0].split_once(" CMD ").expect("a command").1;
    for command in [command, list(check)] {
        understood(&command.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn the_unit_starts_and_stops_a_worker_as_it_needs() {
    let unit = read("deploy/systemd/copycat.service");
    let value = |key: &str| {
        let of_key = |line: &str| line.strip_prefix(key)?.strip_prefix('=').map(str::to_owned);
        unit.lines().find_map(of_key).unwrap_or_else(|| panic!("the unit has {key}"))
    };
    let start = value("ExecStart");
    understood(&start.split_whitespace().collect::<Vec<_>>());
    let file = value("LoadCredential");
    let (credential, _) = file.split_once(':').expect("name and file");
    assert!(start.ends_with(&format!("%d/{credential}")), "{start}");
    let needed = [
        ("bootstrap.servers", "localhost:9092"),
        ("group.id", "g"),
        ("config.storage.topic", "c"),
        ("offset.storage.topic", "o"),
        ("status.storage.topic", "s"),
        ("key.converter", "StringConverter"),
        ("value.converter", "StringConverter"),
    ];
    let config = parsed(&needed.into_iter().collect());
    let stop = Duration::from_secs(value("TimeoutStopSec").parse().unwrap());
    assert!(stop >= stop_time(&config), "{stop:?}");
    assert_eq!(value("KillSignal"), "SIGTERM");
    let wrong_input = ::cli::exit::WRONG_INPUT.to_string();
    assert_eq!(value("RestartPreventExitStatus"), wrong_input);
    // The worker's address is the machine's name unless one is set, and that is in /proc/sys.
    assert!(!unit.lines().any(|line| line == "ProcSubset=pid"));
}

#[test]
fn commands_of_the_page_are_understood() {
    let page = read("docs/deploying.md");
    let quoted = page.split('`').skip(1).step_by(2);
    let shown = page.lines().filter_map(|line| line.strip_prefix("    docker run --rm "));
    let commands: Vec<&str> =
        quoted.chain(shown).filter(|text| text.starts_with("copycat ")).collect();
    assert!(commands.len() > 6, "{commands:?}");
    for command in commands {
        understood(&command.split_whitespace().collect::<Vec<_>>());
    }
    for folder in ["deploy/Containerfile", KUBERNETES, "deploy/systemd/copycat.service"] {
        assert!(
            page.contains(folder) && root().join(folder).try_exists().is_ok_and(|there| there),
            "{folder}"
        );
    }
}
