# Sourced by what runs programs of tests/ against the programs a person would install, from the root of the repository.

# Installs the programs into build/bin, unless THROUGHLINE_TEST_BIN_DIR names a folder that has them, and exports that.
install_programs() {
    [ -z "${THROUGHLINE_TEST_BIN_DIR:-}" ] || return 0
    scripts/install --no-register --bin-dir build/bin >&2
    export THROUGHLINE_TEST_BIN_DIR="$PWD/build/bin"
}

# Builds the programs `$@` of tests/ for release and sets `journeys` to their folder. The packages of scripts/install are
# named beside them: Cargo compiles a dependency again where it is asked for with fewer features.
build_journeys() {
    programs=
    for program in "$@"; do
        programs="$programs --bin $program"
    done
    # shellcheck disable=SC2086 # names of programs are words
    cargo build --release --quiet --locked -p cli -p processor -p mcp -p journeys -p eval $programs
    journeys=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release
}
