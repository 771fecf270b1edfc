//! `actuator run`: the bundled actuators, from their flags. The only place that knows them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::adapters::{docker, exec, kubectl, local};
use crate::cli::app::App;
use crate::cli::args::up_to;
use crate::cli::exit::Exit;
use crate::cli::fault::Fault;
use crate::cli::noun::Outcome;
use crate::cli::output::Answer;
use crate::domain::time::DurationMs;
use crate::ops::actuator_put::TIMEOUT_MAX;

#[derive(Subcommand)]
pub(super) enum Bundled {
    /// Replicas are processes of this host
    Local(LocalArgs),
    /// Deployments and StatefulSets of Kubernetes, through kubectl
    Kubectl(KubectlArgs),
    /// Replicated services of a Swarm, through the Docker CLI
    Docker(DockerArgs),
    /// Commands of yours, with the members of the target and the wish filled in
    Exec(ExecArgs),
    /// Internal: becomes one replica
    #[command(name = "local-replica", hide = true)]
    LocalReplica {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

#[derive(Args)]
pub(super) struct LocalArgs {
    /// Where it keeps what it knows [default: $XDG_STATE_HOME/scalectl/local]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// What one replica runs
    #[arg(long, value_name = "COMMAND")]
    command: String,
    /// How long a replica may take to end after TERM, before KILL
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = call,
        default_value_t = local::GRACE_DEFAULT
    )]
    grace: DurationMs,
    /// How long a new replica must live to count as started
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = call,
        default_value_t = local::SETTLE_DEFAULT
    )]
    settle: DurationMs,
}

#[derive(Args)]
pub(super) struct KubectlArgs {
    /// The context of kubectl through which it acts
    #[arg(long, value_name = "CONTEXT")]
    context: String,
    /// The one namespace in which it acts [default: the runtime of each target]
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// What shows that a reduction is safe: the rollout, budgets of disruption, or a command
    #[arg(long, value_name = "SOURCE", value_parser = ["rollout", "pdb", "provider"])]
    evidence: Option<String>,
    /// A variable that kubectl or a helper of it needs; may be repeated
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// The provider of evidence: reads the request, writes the answer
    #[arg(last = true, value_name = "COMMAND")]
    provider: Vec<String>,
}

#[derive(Args)]
pub(super) struct DockerArgs {
    /// The context of the Docker CLI through which it acts
    #[arg(long, value_name = "CONTEXT")]
    context: String,
    /// What shows that a reduction is safe: the tasks (never that they are drained), or a command
    #[arg(long, value_name = "SOURCE", value_parser = ["tasks", "provider"])]
    evidence: Option<String>,
    /// A variable that docker or a helper of it needs; may be repeated
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// The provider of evidence: reads the request, writes the answer
    #[arg(last = true, value_name = "COMMAND")]
    provider: Vec<String>,
}

#[derive(Args)]
pub(super) struct ExecArgs {
    /// What changes the count, such as 'myctl scale {workload_id} {desired_replicas}'
    #[arg(long, value_name = "TEMPLATE")]
    apply: String,
    /// What reads the count: prints a number, or an object with replicas, ready, uid
    #[arg(long, value_name = "TEMPLATE")]
    inspect: Option<String>,
    /// Run the templates through /bin/sh
    #[arg(long)]
    shell: bool,
    /// An exit code after which trying again does not help; may be repeated
    #[arg(long, value_name = "CODE")]
    terminal_exit: Vec<u8>,
}

/// What is a part of one call.
fn call(text: &str) -> Result<DurationMs, String> {
    up_to(TIMEOUT_MAX, text)
}

/// Is that actuator for one call.
pub(super) fn run(bundled: Bundled, app: &App) -> Outcome {
    let (stdin, stdout) = (&mut std::io::stdin().lock(), &mut std::io::stdout().lock());
    let code = match bundled {
        Bundled::Local(args) => {
            let state_dir = match args.state_dir {
                Some(dir) => dir,
                None => app.state_dir()?.join("local"),
            };
            let config = local::LocalConfig {
                state_dir,
                command: args.command,
                grace: args.grace,
                settle: args.settle,
            };
            local::serve(&config, stdin, stdout)
        }
        Bundled::Exec(args) => {
            let usage =
                |error: exec::TemplateError| Fault::usage("invalid_template", error.to_string());
            let config = exec::ExecConfig {
                apply: exec::Template::apply(&args.apply, args.shell).map_err(usage)?,
                inspect: args
                    .inspect
                    .map(|text| exec::Template::inspect(&text, args.shell))
                    .transpose()
                    .map_err(usage)?,
                shell: args.shell,
                terminal_exits: args.terminal_exit.into_iter().map(i32::from).collect(),
            };
            exec::serve(&config, stdin, stdout)
        }
        Bundled::Kubectl(args) => kubectl::serve(&kubectl_config(args)?, stdin, stdout),
        Bundled::Docker(args) => docker::serve(&docker_config(args)?, stdin, stdout),
        Bundled::LocalReplica { args } => local::replica_main(&args),
    };
    // The answer is on stdout already, in the protocol's own words.
    let exit = match code {
        0 => Exit::Ok,
        2 => Exit::Usage,
        _ => Exit::Internal,
    };
    Ok(Answer::ending(exit).streamed())
}

/// The source that was named, and the command of it where it is a provider.
fn evidence(
    source: Option<String>,
    provider: Vec<String>,
) -> Result<(Option<String>, Option<Vec<String>>), Fault> {
    let usage = |message: &str| Fault::usage("invalid_evidence", message.to_owned());
    match (source.as_deref(), provider.is_empty()) {
        (Some("provider"), true) => {
            Err(usage("--evidence provider needs the command of the provider after --"))
        }
        (Some("provider"), false) => Ok((source, Some(provider))),
        (_, false) => Err(usage("a command after -- needs --evidence provider")),
        (_, true) => Ok((source, None)),
    }
}

fn kubectl_config(args: KubectlArgs) -> Result<kubectl::KubectlConfig, Fault> {
    use kubectl::EvidenceSource::{Budget, Provider, Rollout};
    let evidence = match evidence(args.evidence, args.provider)? {
        (_, Some(provider)) => Some(Provider(provider)),
        (Some(source), None) => Some(if source == "pdb" { Budget } else { Rollout }),
        (None, None) => None,
    };
    kubectl::KubectlConfig::new(args.context, args.namespace, evidence, args.variables)
        .map_err(|error| Fault::usage("invalid_place", error.to_string()))
}

fn docker_config(args: DockerArgs) -> Result<docker::DockerConfig, Fault> {
    use docker::EvidenceSource::{Provider, Tasks};
    let evidence = match evidence(args.evidence, args.provider)? {
        (_, Some(provider)) => Some(Provider(provider)),
        (Some(_), None) => Some(Tasks),
        (None, None) => None,
    };
    docker::DockerConfig::new(args.context, evidence, args.variables)
        .map_err(|error| Fault::usage("invalid_place", error.to_string()))
}
