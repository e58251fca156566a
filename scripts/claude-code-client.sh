# Sourced by the journeys with the real Claude Code client, from the root of the repository: fetches it once and sets
# `client` to its program and `client_version`. The caller is skipped, successfully, where it cannot be had.

# Pinned, so that a failure is ours. Raise it together with a new recording. The variable is for trials of other versions.
client_version=${THROUGHLINE_TEST_CLAUDE_VERSION:-2.1.330}

skip() {
  if [ "${THROUGHLINE_E2E:-}" = strict ]; then
    echo "$0: $1, and THROUGHLINE_E2E=strict lets nothing be skipped" >&2
    exit 1
  fi
  echo "SKIPPED: $0: $1" >&2
  exit 0
}

# The client's own package for this machine; the general one needs a newer Node only to find it.
platform() {
  local system machine libc=""
  case "$(uname -s)" in
    Linux) system=linux; if ldd --version 2>&1 | grep -qi musl; then libc=-musl; fi ;;
    Darwin) system=darwin ;;
    *) return 1 ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) return 1 ;;
  esac
  echo "$system-$machine$libc"
}

fetch_client() {
  local package folder
  package="@anthropic-ai/claude-code-$(platform)" || skip "there is no client for $(uname -sm)"
  folder="$PWD/build/claude-code/$client_version"
  client="$folder/node_modules/$package/claude"
  if [ -x "$client" ]; then return; fi
  command -v npm >/dev/null || skip "npm is not installed, so the client cannot be fetched"
  echo "Fetching $package $client_version into build/claude-code ..." >&2
  mkdir -p "$folder"
  echo '{ "private": true }' >"$folder/package.json"
  (cd "$folder" && npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error "$package@$client_version" >&2)
}

fetch_client
