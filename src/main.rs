//! The binary.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use scalectl::adapters::{exec, local};
use scalectl::domain::time::DurationMs;

fn main() -> ExitCode {
    close_fds::set_fds_cloexec(3, &[]);
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let (stdin, stdout) = (&mut io::stdin().lock(), &mut io::stdout().lock());
    let flag = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).map(|word| (*word).to_owned())
    };
    if words.first() == Some(&"guard") {
        return scalectl::actuator::guard::guard_main(args.into_iter().skip(1)).into();
    }
    let code = match words.get(..3) {
        Some(["actuator", "run", "local-replica"]) => local::replica_main(&args[3..]),
        Some(["actuator", "run", "local"]) => {
            let duration = |name: &str, default| {
                flag(name).and_then(|text| text.parse().ok()).unwrap_or(default)
            };
            let config = local::LocalConfig {
                state_dir: flag("--state-dir").unwrap_or_default().into(),
                command: flag("--command").unwrap_or_default(),
                grace: duration("--grace", local::GRACE_DEFAULT),
                settle: duration("--settle", DurationMs::from_millis(100)),
            };
            local::serve(&config, stdin, stdout)
        }
        Some(["actuator", "run", "exec"]) => {
            let shell = words.contains(&"--shell");
            let apply = exec::Template::apply(&flag("--apply").unwrap_or_default(), shell);
            let inspect = flag("--inspect").map(|text| exec::Template::inspect(&text, shell));
            match (apply, inspect.transpose()) {
                (Ok(apply), Ok(inspect)) => {
                    let terminal_exits = Vec::new();
                    let config = exec::ExecConfig { apply, inspect, shell, terminal_exits };
                    exec::serve(&config, stdin, stdout)
                }
                _ => 2,
            }
        }
        _ => 2,
    };
    ExitCode::from(code)
}
