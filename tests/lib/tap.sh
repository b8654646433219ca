# SPDX-License-Identifier: Apache-2.0
# A small TAP producer for scripts; sourced. `source` and `build` become the
# paths of the two trees, `scratch` a directory that is removed at the end.

source=${srcdir:-$(dirname "$0")/../..}
source=$(cd "$source" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

tap_run=0
tap_failed=0

# tap_ok STATUS DESCRIPTION: one check, which held if STATUS is 0.
tap_ok() {
    tap_run=$((tap_run + 1))
    if [ "$1" -eq 0 ]; then
        printf 'ok %d - %s\n' "$tap_run" "$2"
    else
        tap_failed=$((tap_failed + 1))
        printf 'not ok %d - %s\n' "$tap_run" "$2"
    fi
}

# tap_empty FILE DESCRIPTION: a check that held if FILE is empty; shows it.
tap_empty() {
    if [ -s "$1" ]; then
        tap_ok 1 "$2"
        sed 's/^/#   /' "$1"
    else
        tap_ok 0 "$2"
    fi
}

tap_skip() {
    tap_run=$((tap_run + 1))
    printf 'ok %d # SKIP %s\n' "$tap_run" "$1"
}

tap_bail() {
    printf 'Bail out! %s\n' "$1"
    exit 99
}

tap_done() {
    [ "$tap_run" -gt 0 ] || tap_bail 'no test ran'
    printf '1..%d\n' "$tap_run"
    [ "$tap_failed" -eq 0 ]
    exit
}
