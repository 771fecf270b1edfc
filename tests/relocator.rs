//! The bundled relocator `local`, as the parent sees it: one process per call, real databases.

mod deaths;
mod fences;
mod moving;
mod packages;
mod world;
