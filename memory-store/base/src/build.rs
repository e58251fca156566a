//! The version that each program prints.

/// Returns the name and the version of a program, with the commit of the build if it is known. `commit` is the value of
/// `option_env!("THROUGHLINE_COMMIT")`, which the build scripts set.
pub fn version(program: &str, commit: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{program} {version} ({commit})"),
        None => format!("{program} {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_printed_if_known() {
        let plain = format!("throughline-mcp {}", env!("CARGO_PKG_VERSION"));
        assert_eq!(version("throughline-mcp", None), plain);
        assert_eq!(version("throughline-mcp", Some("")), plain);
        let whole = version("throughline-mcp", Some("1a2b3c4d 2026-10-02"));
        assert_eq!(whole, format!("{plain} (1a2b3c4d 2026-10-02)"));
    }
}
