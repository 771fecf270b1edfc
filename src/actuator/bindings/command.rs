//! From the words of a person to a command that means the same from everywhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use super::super::error::BindingError;
use super::{Binding, BundledPin, FilePin, OWN_WORD, Program};

/// The place where a command is being bound.
#[derive(Debug, Clone)]
pub struct BindSite<'a> {
    /// The working directory, absolute.
    pub current_dir: &'a Path,
    /// `PATH`, if it is set.
    pub search_path: Option<&'a OsStr>,
    /// This very binary.
    pub own_exe: &'a Path,
    /// What a bundled actuator of this binary is.
    pub bundled: BundledPin,
}

impl Binding {
    /// Makes a binding of a command: the program is looked up and pinned, and relative paths become
    /// absolute.
    ///
    /// An argument is a path if it begins with `./` or `../`, if it is the value of `--root` or of
    /// an option that ends in `-dir` or `-file` (`--state-dir x`, `--state-dir=x`), or if it names
    /// something that exists. The last does not hold for bundled actuators, whose arguments without
    /// a slash are words.
    pub fn of(
        command: &[OsString],
        environment: BTreeMap<String, String>,
        site: &BindSite<'_>,
    ) -> Result<Self, BindingError> {
        let words: Vec<&str> = command
            .iter()
            .map(|word| word.to_str().ok_or_else(|| BindingError::NotUtf8(word.clone())))
            .collect::<Result<_, _>>()?;
        let (program, args) = words.split_first().ok_or(BindingError::Empty)?;
        let program = bind_program(program, site)?;
        let is_bundled = matches!(program, Program::Bundled(_));
        let args = bind_args(args, is_bundled, site.current_dir);
        let program = match program {
            Program::Foreign { path, pin, .. } => {
                let scripts = pinned_scripts(&path, &args)?;
                Program::Foreign { path, pin, scripts }
            }
            Program::Bundled(_) => program,
        };
        Ok(Self { program, args, environment })
    }
}

fn bind_program(program: &str, site: &BindSite<'_>) -> Result<Program, BindingError> {
    if program == OWN_WORD {
        return Ok(Program::Bundled(site.bundled.clone()));
    }
    if program.is_empty() {
        return Err(BindingError::Empty);
    }
    let path = if program.contains('/') {
        let path = absolute(program, site.current_dir);
        (is_executable(&path)).then_some(path).ok_or("at this path")
    } else {
        look_up(program, site).ok_or("in PATH")
    };
    let path =
        path.map_err(|place| BindingError::ProgramNotFound { program: program.into(), place })?;
    let same = fs::canonicalize(&path).ok() == fs::canonicalize(site.own_exe).ok();
    if same {
        return Ok(Program::Bundled(site.bundled.clone()));
    }
    let pin = FilePin::of(&path)?;
    Ok(Program::Foreign { path, pin, scripts: BTreeMap::new() })
}

fn look_up(program: &str, site: &BindSite<'_>) -> Option<PathBuf> {
    std::env::split_paths(site.search_path?)
        .map(|dir| site.current_dir.join(dir).join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file()) && access(path, Access::EXEC_OK).is_ok()
}

/// Programs whose first argument that is no option is what they run. A version may follow.
const INTERPRETERS: [&str; 16] = [
    "sh", "ash", "bash", "busybox", "dash", "ksh", "mksh", "zsh", "fish", "python", "perl", "ruby",
    "node", "deno", "lua", "php",
];

/// Pins what a program is given to run: the script of an interpreter, and whatever is a program
/// itself, as behind `env` or `timeout`. Other files are settings, which may change.
fn pinned_scripts(
    program: &Path,
    args: &[String],
) -> Result<BTreeMap<String, FilePin>, BindingError> {
    let first = args.iter().position(|arg| !arg.starts_with('-'));
    let script = first.filter(|_| is_interpreter(program));
    let mut scripts = BTreeMap::new();
    for (at, arg) in args.iter().enumerate() {
        let path = Path::new(arg);
        let is_run = script == Some(at) && path.is_file() || is_executable(path);
        if path.is_absolute() && is_run {
            scripts.insert(arg.clone(), FilePin::of(path)?);
        }
    }
    Ok(scripts)
}

fn is_interpreter(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.contains(&plain)
}

fn bind_args(args: &[&str], is_bundled: bool, current_dir: &Path) -> Vec<String> {
    let mut follows_option = false;
    let mut bound = Vec::with_capacity(args.len());
    for arg in args {
        let names_path = follows_option
            || arg.starts_with("./")
            || arg.starts_with("../")
            || matches!(*arg, "." | "..")
            || (!is_bundled && is_existing(arg, current_dir));
        follows_option = takes_path(arg);
        bound.push(match arg.split_once('=') {
            Some((option, value)) if takes_path(option) => {
                format!("{option}={}", absolute_text(value, current_dir))
            }
            _ if names_path => absolute_text(arg, current_dir),
            _ => (*arg).to_owned(),
        });
    }
    bound
}

fn takes_path(option: &str) -> bool {
    option == "--root"
        || option.starts_with('-') && (option.ends_with("-dir") || option.ends_with("-file"))
}

fn is_existing(arg: &str, current_dir: &Path) -> bool {
    !arg.is_empty() && !arg.starts_with('-') && current_dir.join(arg).symlink_metadata().is_ok()
}

fn absolute(text: &str, current_dir: &Path) -> PathBuf {
    // `..` stays: with symbolic links, `a/..` need not be the directory that holds `a`.
    let path = current_dir.join(text);
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn absolute_text(text: &str, current_dir: &Path) -> String {
    if text.is_empty() || text.starts_with('/') {
        return text.to_owned();
    }
    match absolute(text, current_dir).into_os_string().into_string() {
        Ok(path) => path,
        // The working directory is not UTF-8; the word stays as it was said.
        Err(_) => text.to_owned(),
    }
}
