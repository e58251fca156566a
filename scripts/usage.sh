# Sourced by scripts before they do anything: answers `--help` from the comment at the script's head.

usage_of=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/${0##*/}

# Prints that comment.
usage() {
    sed -n '2,$ {
        /^#/!q
        s/^# \{0,1\}//p
    }' "$usage_of"
}

for argument do
    case $argument in
        -h | --help) usage; exit 0 ;;
        --) break ;;
    esac
done
