//! Tests of the ledger: what is written can be read, what is damaged is found and named.

mod damage;
mod files;
mod kept;
mod lost;
mod plans;
mod support;
mod writing;
