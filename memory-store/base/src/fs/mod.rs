//! Files and folders that others may have made, replaced or exchanged.

pub mod beneath;
pub mod disk;
pub mod lines;
pub mod lock;
pub mod names;
pub mod regular;
pub mod seal;
pub mod stamp;
