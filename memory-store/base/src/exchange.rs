//! Files through which hooks and processor communicate.

pub mod claim_notice;
pub mod file_pool;
pub mod note;
pub mod pull_notice;
pub mod secret_notice;
