//! The binary: one call.

use std::process::ExitCode;

fn main() -> ExitCode {
    scalectl::actuator::protect_descriptors();
    scalectl::actuator::signals::withstand();
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|word| word == "guard") {
        return scalectl::actuator::guard::guard_main(args).into();
    }
    scalectl::cli::run(std::env::args_os())
}
