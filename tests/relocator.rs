//! The bundled relocator `local`, as the parent sees it: one process per call, real databases.

mod contents;
mod deaths;
mod fences;
mod hostile;
mod moving;
mod packages;
mod world;
