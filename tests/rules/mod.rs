//! The rules of a scale intent, as rows: each line is a command and what it comes to.

mod commands;
mod consent;
mod fleet;
mod fleet_commands;
mod given;
mod script;
pub(crate) mod support;

mod calls;
mod changed;
mod crash;
mod current;
mod gates;
mod glass;
mod golden;
mod identity;
mod leases;
mod leave;
mod life;
mod next;
mod over;
mod rejections;
mod ticks;
mod walk;
