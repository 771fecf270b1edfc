//! scalectl: the durable authority for replica counts.
pub mod domain;
