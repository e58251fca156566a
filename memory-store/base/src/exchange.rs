//! Files that hooks and processor leave for each other.

pub mod file_pool;
pub mod note;
pub mod pull_notice;
pub mod secret_notice;
