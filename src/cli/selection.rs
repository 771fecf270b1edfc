//! `-l`: the services of a line, by their labels instead of their names.

use clap::Args;

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::problem::Problem;
use crate::domain::id::ServiceName;
use crate::domain::scale::state::ServiceHead;
use crate::domain::selector::Selector;

#[derive(Args)]
pub(super) struct Selection {
    /// The services with such labels: k=v, k!=v, k in (a,b), k, !k; a comma asks for both
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with = "services")]
    selector: Option<Selector>,
}

impl Selection {
    /// The services that it takes of those that are `meant`; none where the line has no selector.
    /// That it takes nothing is refused: a verb without names would be about everything.
    pub(super) fn services(
        &self,
        app: &mut App,
        meant: impl Fn(&ServiceHead) -> bool,
    ) -> Result<Option<Vec<ServiceName>>, Fault> {
        let Some(selector) = &self.selector else { return Ok(None) };
        let is_taken = |head: &ServiceHead| {
            let labels = head.registration.as_ref().map(|registration| &registration.labels);
            labels.is_some_and(|labels| selector.matches(labels)) && meant(head)
        };
        let heads = app.session()?.heads()?;
        let taken = heads.into_iter().filter(|(_, head)| is_taken(head));
        let names: Vec<ServiceName> = taken.map(|(name, _)| name).collect();
        if names.is_empty() {
            let what = format!("no service is selected by {selector}");
            let list = app.problem_context().command(&["service", "list"]);
            return Err(Problem::new("nothing_selected", Exit::NotFound, what)
                .hint("the labels of every service are listed by")
                .run(list)
                .into());
        }
        Ok(Some(names))
    }
}

/// Of a head: whether it is still somebody's to run.
pub(super) fn is_in_service(head: &ServiceHead) -> bool {
    head.authority.retired.is_none()
}
