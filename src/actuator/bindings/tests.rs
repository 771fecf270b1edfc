use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("bin")).expect("created");
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self) -> PathBuf {
        self.path("config/scalectl/actuators.toml")
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        mode(&path, 0o755);
        path
    }

    fn bind(&self, command: &[&str]) -> Result<Binding, BindingError> {
        let search_path = OsString::from(format!("/absent:{}", self.path("bin").display()));
        let own_exe = self.program("own", "this very binary");
        let site = BindSite {
            current_dir: self.root.path(),
            search_path: Some(&search_path),
            own_exe: &own_exe,
            bundled: bundled("1"),
        };
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        Binding::of(&command, BTreeMap::new(), &site)
    }

    fn put(&self, actuator: &str, binding: &Binding) -> Result<(), BindingError> {
        put(&self.file(), &ledger(), &name(actuator), binding)
    }

    fn find(&self, actuator: &str) -> Result<Binding, BindingError> {
        find(&self.file(), &ledger(), &name(actuator))
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
}

fn bundled(version: &str) -> BundledPin {
    let (protocol, adapter_version) = ("scalectl.actuator/1".to_owned(), version.to_owned());
    BundledPin { protocol, adapter_version }
}

fn ledger() -> LedgerId {
    "ledger:0/1".parse().expect("an identifier")
}

fn name(text: &str) -> ActuatorName {
    text.parse().expect("an identifier")
}

fn child(binding: &Binding) -> Result<ChildSpec, BindingError> {
    binding.child(Path::new("/own"), &bundled("1"), Vec::new())
}

#[test]
fn bindings_are_kept_by_ledger_and_actuator() {
    let world = World::new();
    assert!(matches!(world.find("k.1"), Err(BindingError::Unbound { .. })));
    world.program("bin/act", "#!/bin/sh\n");
    let mut foreign = world.bind(&["act", "apply"]).unwrap();
    foreign.environment.insert("ZONE".into(), "a \"b\"\n".into());
    let own = world.bind(&["scalectl", "adapter", "local"]).unwrap();
    world.put("k.1", &foreign).unwrap();
    world.put("local", &own).unwrap();
    assert_eq!(world.find("k.1").unwrap(), foreign);
    assert_eq!(world.find("local").unwrap(), own);
    let other = find(&world.file(), &"ledger:2".parse().unwrap(), &name("local"));
    assert!(matches!(other, Err(BindingError::Unbound { .. })));
    let permissions = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(permissions(&world.file()), 0o600);
    assert_eq!(permissions(world.file().parent().unwrap()), 0o700);
    assert!(remove(&world.file(), &ledger(), &name("k.1")).unwrap());
    assert!(!remove(&world.file(), &ledger(), &name("k.1")).unwrap());
    assert!(matches!(world.find("k.1"), Err(BindingError::Unbound { .. })));
    assert_eq!(fs::read_dir(world.file().parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn relative_paths_become_absolute_and_words_stay() {
    let world = World::new();
    let program = world.program("bin/act", "");
    fs::write(world.path("values.yaml"), "").unwrap();
    fs::write(world.path("local"), "").unwrap();
    let at = |name: &str| world.path(name).into_os_string().into_string().unwrap();
    for (args, expected) in [
        (vec!["apply"], vec!["apply".to_owned()]),
        (vec!["values.yaml", "absent.yaml"], vec![at("values.yaml"), "absent.yaml".into()]),
        (vec!["./new", "../up", "/abs"], vec![at("new"), at("../up"), "/abs".into()]),
        (vec!["--state-dir", "s", "t"], vec!["--state-dir".into(), at("s"), "t".into()]),
        (vec!["--key-file=k", "--x=y"], vec![format!("--key-file={}", at("k")), "--x=y".into()]),
        (vec!["--dir-mode", "s", ""], vec!["--dir-mode".into(), "s".into(), String::new()]),
    ] {
        let command = [vec!["./bin/act"], args].concat();
        let binding = world.bind(&command).unwrap();
        assert_eq!(binding.args, expected);
        assert!(matches!(binding.program, Program::Foreign { path, .. } if path == program));
    }
    // A file that happens to be called like an adapter changes nothing.
    let own = world.bind(&["scalectl", "adapter", "local", "--state-dir", "s"]).unwrap();
    assert_eq!(own.args, ["adapter".into(), "local".into(), "--state-dir".into(), at("s")]);
}

#[test]
fn this_very_binary_is_the_bundled_one_by_any_path() {
    let world = World::new();
    for program in ["scalectl", "./own", "bin/../own"] {
        let binding = world.bind(&[program, "adapter"]).unwrap();
        assert_eq!(binding.program, Program::Bundled(bundled("1")));
        assert_eq!(child(&binding).unwrap().program, Path::new("/own"));
        let later = binding.child(Path::new("/own"), &bundled("2"), Vec::new());
        assert!(matches!(later, Err(BindingError::BundledChanged { .. })));
    }
}

#[test]
fn programs_that_are_not_there_cannot_be_bound() {
    let world = World::new();
    fs::write(world.path("bin/plain"), "").unwrap();
    for command in
        [vec!["absent"], vec!["./absent"], vec!["bin/plain"], vec!["plain"], vec!["./bin"]]
    {
        let error = world.bind(&command).expect_err("no program");
        assert!(matches!(error, BindingError::ProgramNotFound { .. }), "{error}");
    }
    assert!(matches!(world.bind(&[]), Err(BindingError::Empty)));
    assert!(matches!(world.bind(&[""]), Err(BindingError::Empty)));
}

#[test]
fn another_file_with_the_same_bytes_is_the_same_program() {
    let world = World::new();
    let path = world.program("bin/act", "#!/bin/sh\nexit 0\n");
    let binding = world.bind(&["act"]).unwrap();
    assert_eq!(child(&binding).unwrap().program, path);
    fs::remove_file(&path).unwrap();
    world.program("bin/act", "#!/bin/sh\nexit 0\n");
    assert_eq!(child(&binding).unwrap().program, path);
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    world.program("bin/act", "#!/bin/sh\nexit 1\n");
    File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
    let error = child(&binding).expect_err("changed").to_string();
    assert!(error.contains("the program that was bound"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(matches!(child(&binding), Err(BindingError::Io { .. })));
}

#[test]
fn what_a_program_is_given_to_run_is_pinned_and_settings_are_not() {
    let world = World::new();
    for interpreter in ["sh", "python3.11", "env", "act"] {
        world.program(&format!("bin/{interpreter}"), "");
    }
    world.program("tool", "1");
    for name in ["script", "settings.yaml"] {
        fs::write(world.path(name), "1").unwrap();
    }
    for (command, pinned) in [
        (&["sh", "-eu", "script", "settings.yaml"][..], &["script"][..]),
        (&["python3.11", "./script", "-c", "settings.yaml"], &["script"]),
        (&["sh", "-c", "echo", "settings.yaml"], &[]),
        (&["sh", "tool", "script"], &["tool"]),
        (&["env", "A=b", "./tool", "script"], &["tool"]),
        (&["act", "script", "settings.yaml"], &[]),
    ] {
        let binding = world.bind(command).unwrap();
        world.put("a", &binding).unwrap();
        assert_eq!(world.find("a").unwrap(), binding);
        for name in ["script", "settings.yaml", "tool"] {
            let before = fs::read(world.path(name)).unwrap();
            fs::write(world.path(name), "changed").unwrap();
            let changed = matches!(child(&binding), Err(BindingError::ActuatorChanged { .. }));
            assert_eq!(changed, pinned.contains(&name), "{name} of {command:?}");
            fs::write(world.path(name), before).unwrap();
            child(&binding).expect("the same bytes again");
        }
    }
}

#[test]
fn files_that_others_may_write_are_not_trusted() {
    let world = World::new();
    let own = world.bind(&["scalectl"]).unwrap();
    world.put("a", &own).unwrap();
    let (file, dir) = (world.file(), world.file().parent().unwrap().to_owned());
    for (path, bad, good) in
        [(&file, 0o620, 0o640), (&file, 0o602, 0o644), (&dir, 0o770, 0o755), (&dir, 0o1777, 0o700)]
    {
        mode(path, bad);
        assert!(matches!(world.find("a"), Err(BindingError::Unsafe { .. })), "{bad:o}");
        assert!(matches!(world.put("a", &own), Err(BindingError::Unsafe { .. })), "{bad:o}");
        mode(path, good);
        assert_eq!(world.find("a").unwrap(), own);
    }
}

#[test]
fn garbage_is_named_with_its_line() {
    let world = World::new();
    let head = "format_version = 1\n\n[ledger.\"ledger:0/1\".a]\n";
    let pin = "bundled = { protocol = \"p\", adapter_version = \"1\" }\n";
    fs::create_dir_all(world.file().parent().unwrap()).unwrap();
    mode(world.file().parent().unwrap(), 0o700);
    for (text, line) in [
        ("nonsense".to_owned(), 1),
        ("format_version = 2\n".to_owned(), 1),
        ("format_version = 1\nother = 1\n".to_owned(), 2),
        (format!("{head}program = \"scalectl\"\n{pin}colour = 1\n"), 6),
        (format!("{head}program = \"scalectl\"\nargs = \"x\"\n"), 5),
        (format!("{head}program = \"scalectl\"\n"), 3),
        (format!("{head}program = \"act\"\n{pin}"), 3),
        (format!("{head}program = \"/bin/act\"\n{pin}"), 3),
        ("format_version = 1\n[ledger.\"\".a]\n".to_owned(), 2),
    ] {
        fs::write(world.file(), &text).unwrap();
        mode(&world.file(), 0o600);
        match world.find("a") {
            Err(BindingError::Malformed { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    fs::write(world.file(), b"format_version = 1\n# \xff\n").unwrap();
    assert!(matches!(world.find("a"), Err(BindingError::Malformed { line: 2, .. })));
}

#[test]
fn only_listed_variables_that_are_set_are_passed() {
    let source = |name: &str| match name {
        "HOME" => Some(OsString::from("/home/x")),
        "SECRET" => Some(OsString::from("s")),
        "EMPTY" => Some(OsString::new()),
        _ => None,
    };
    let names = ["HOME", "ABSENT", "EMPTY", "HOME", "", "A=B"].map(String::from);
    let env = resolve_env(&names, &source);
    assert_eq!(env, [("EMPTY".into(), "".into()), ("HOME".into(), "/home/x".into())]);
    let binding = Binding {
        program: Program::Bundled(bundled("1")),
        args: vec![],
        environment: BTreeMap::from([("HOME".into(), "/fixed".into())]),
    };
    let spec = binding.child(Path::new("/own"), &bundled("1"), env).unwrap();
    assert_eq!(spec.env, [("EMPTY".into(), "".into()), ("HOME".into(), "/fixed".into())]);
}
