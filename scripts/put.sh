# Sourced by what puts programs in place.

# Copies the file `$1` to `$2`; `$3` is its mode, 755 without. A running program keeps its file; the new one
# takes its name. Written in one piece, it lies in memory in larger parts, and a start maps a quarter of its
# pages less one by one.
put() {
    new=$(dirname -- "$2")/.$(basename -- "$2").new
    said=$(dd if="$1" of="$new" bs=67108864 2>&1) || { echo "$said" >&2; rm -f "$new"; return 1; }
    chmod "${3:-755}" "$new" && mv -f "$new" "$2"
}
