//! Placement: the rules over code, and the real program over both engines.

mod golden;
mod model;
mod observed;
mod operations;
mod program;
mod receipts;
mod registry;
mod rows;
mod services;
mod walk;
mod world;
