//! The binary. Until the command line is here it only serves as its own guard.

use std::process::ExitCode;

fn main() -> ExitCode {
    scalectl::actuator::protect_descriptors();
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(noun) if noun == "guard" => scalectl::actuator::guard::guard_main(args).into(),
        _ => ExitCode::SUCCESS,
    }
}
