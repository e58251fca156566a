# Sourced by what runs programs of tests/ against the programs a person would install, from the root of the repository.

# Builds the programs `$@` of tests/ for release, or all without a name, and sets `journeys` to their folder. The programs
# of `scripts/install` are named beside them: Cargo compiles a dependency again where it is asked for with fewer features.
build_journeys() {
    programs=--bins
    for program in "$@"; do
        case $programs in --bins) programs= ;; esac
        programs="$programs --bin $program"
    done
    # shellcheck disable=SC2086 # names of programs are words
    cargo build --release --quiet --locked -p cli -p processor -p mcp -p journeys $programs
    journeys=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release
}
