//! Safe use of files and folders that other users or programs may have created or replaced.

pub mod dir;
pub mod disk;
pub mod file_name;
pub mod file_stamp;
pub mod lines;
pub mod lock;
pub mod open_regular;
pub mod private_folders;
pub mod process;
pub mod tree_fingerprint;
