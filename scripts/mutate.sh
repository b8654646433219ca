#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the tests notice what is wrong: makes the small wrong changes of
# tests/mutate/changes.txt in a copy of the sources, one at a time, builds what
# it takes and runs the tests that are named for the change; then, if these
# pass, all tests of the areas that it may show in. Works in build/mutate. From
# any directory:
#
#   scripts/mutate.sh [NUMBER...]
#
# Without numbers all of them, and it fails when more than 3 survive; else when
# any does. A test that hangs is ended after TEST_LIMIT seconds (120), which
# counts as noticed.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
original=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$original/scripts/lib.sh"

most_survivors=3
work=$original/build/mutate
source=$work/source # for what is shared: the copy is what is built
build=$work/build
log=$work/build.log
mkdir -p "$source" "$build"
: >"$log"

export CI=${CI:-1} # no test is skipped that needs a memcached
export TEST_LIMIT=${TEST_LIMIT:-120} TEST_SLACK_MS=${TEST_SLACK_MS:-200}

# The tests that are run when those named for a change pass, by its layer.
declare -A areas=(
    [base]='base ring topology net client fleet'
    [ring]='ring plan topology'
    [plan]='plan ring topology'
    [topology]='topology client fleet'
    [net]='net faults client'
    [client]='client fleet race'
    [fleet]='fleet'
)

# changes ARGUMENT...: what tests/mutate/changes.awk says.
changes() {
    (cd "$original" && awk "$@" -f tests/mutate/changes.awk tests/mutate/changes.txt)
}

# The sources as they are; a file that is the same stays as old as it is.
copy_sources() {
    (
        cd "$original"
        git ls-files --cached --others --exclude-standard 2>/dev/null ||
            find . -path ./build -prune -o -type f -print # a tarball
    ) |
        while read -r file; do
            if [[ -f $original/$file ]] && ! cmp -s "$original/$file" "$source/$file"; then
                rm -f "$work/passed"
                mkdir -p "$source/$(dirname "$file")"
                cp "$original/$file" "$source/$file"
            fi
        done
}

changed=
undo() {
    [[ -z $changed ]] || cp "$original/$changed" "$source/$changed"
    changed=
}
trap undo EXIT

# tests_of AREA...: the programs of these directories.
tests_of() {
    local area
    for area in "$@"; do
        grep -oE "tests/$area/[a-z_0-9]+\.t\b" "$source/Makefile.am" | sort -u
    done
}

compile() {
    make -C "$build" -j "$(nproc)" "$@" >>"$log" 2>&1
}

run_test() {
    make -C "$build" check-TESTS TESTS="$1" check_PROGRAMS= check_LTLIBRARIES= >>"$log" 2>&1
}

# first_failure TIMES TEST...: the test that fails so often in a row, and its first
# check that does.
first_failure() {
    local times=$1 name
    shift
    for name in "$@"; do
        compile "$name" || :
        if ! run_test "$name" && { [[ $times -eq 1 ]] || ! run_test "$name"; }; then
            echo "$name: $(sed -n 's/^\(FAIL\|ERROR\): [^ ]* *[0-9]* *-* *//p' \
                "$build/${name%.*}.log" | head -n 1)"
            return
        fi
    done
}

# try NUMBER FILE KIND TEST...: one line.
caught=0 tried=0
try() {
    local number=$1 file=$2 kind=$3 begin=$SECONDS layer by
    shift 3
    printf '%3d  %-32s %-14s' "$number" "$file" "$kind"
    changed=$file
    changes -v what=apply -v number="$number" >"$source/$file" || {
        echo "its old text is not there exactly once"
        return 1
    }
    compile "$1" || {
        echo "it does not compile"
        tail -n 20 "$log" | sed 's/^/    | /'
        return 1
    }
    by=$(first_failure 1 "$@")
    if [[ -z $by && -z ${NAMED_ONLY:-} ]]; then
        layer=${file#lib/} layer=${layer%%/*}
        local others
        # shellcheck disable=SC2086 # a list of areas
        mapfile -t others < <(tests_of ${areas[$layer]})
        by=$(first_failure 2 "${others[@]}") # a busy machine may fail one of so many
    fi
    undo
    tried=$((tried + 1))
    [[ -z $by ]] || caught=$((caught + 1))
    printf '%4d s  %.100s\n' $((SECONDS - begin)) "${by:-SURVIVED}"
}

wanted=$(changes -v what=list)
if [[ $# -gt 0 ]]; then
    wanted=$(awk -v numbers=" $* " 'index(numbers, " " $1 " ")' <<<"$wanted")
fi
mapfile -t named < <(cut -d ' ' -f 4- <<<"$wanted" | tr ' ' '\n' | sort -u)
[[ -n $wanted ]] || {
    echo "no change has one of these numbers: $*" >&2
    exit 2
}

# The tests that pass without any change stand in $work/passed, until a source
# is another.
run_unchanged() {
    local name by
    for name in "${named[@]}"; do
        if ! grep -qsxF "$name" "$work/passed"; then
            by=$(first_failure 1 "$name")
            [[ -z $by ]] || {
                echo "without any change: $by"
                return 1
            }
            echo "$name" >>"$work/passed"
        fi
    done
}

echo "Building in $work"
[[ -z $(missing_packages build test) ]] || step 'install packages' install_missing build test
copy_sources
bootstrap_if_needed
configure_in "$build" CFLAGS=-O1 --disable-static
step compile compile "${named[@]}" # as they are, before the first change
step 'run the tests unchanged' run_unchanged
echo
printf '%3s  %-32s %-14s%4s    %s\n' no. file kind time 'caught by'
while read -r line; do
    # shellcheck disable=SC2086 # a list of words
    try $line </dev/null
done <<<"$wanted"
echo
echo "$caught of $tried caught"
[[ $# -eq 0 ]] || most_survivors=0
[[ $((tried - caught)) -le $most_survivors ]]
