//! The rules of a scale intent, as rows: each line is a command and what it comes to.

mod script;
mod support;

mod calls;
mod current;
mod gates;
mod identity;
mod leases;
mod life;
