#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs tests under valgrind: memcheck over those of base, ring, topology, net and
# client; helgrind over some with threads, for the order and the use of locks
# (races are the thread sanitizer's). Both, or the tools or tests that are named;
# installs what is missing. Builds in build/check first. From any directory:
#
#   scripts/valgrind.sh [memcheck] [helgrind] [AREA/TEST...]
#
# as in scripts/valgrind.sh memcheck net/pool client/basic. Reports are in
# build/check/valgrind. What valgrind gets wrong is in scripts/valgrind.supp with
# the reasons. Ends with the line "N errors", and fails unless N is 0.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

# shellcheck disable=SC2034 # found by the name of the tool
memcheck='
base/deadline base/fail base/fork base/hash base/memory base/number
ring/errors ring/libmemcached ring/memory ring/modula ring/null ring/options ring/plan ring/ring
topology/edit topology/file topology/file_bad topology/file_memory topology/memory
topology/null topology/parse topology/preview topology/route topology/step
fuzz/meta_replay
net/batch net/fork net/lines net/limits net/memory net/meta_batch net/meta_encode
net/meta_faults net/meta_parse net/pool net/request net/stale
client/bad_input client/bad_input_keys client/basic client/exact client/fork client/gate
client/mixed client/multi client/null client/options client/phases client/phases_fill
client/phases_modify client/rollback
'
# shellcheck disable=SC2034
helgrind='client/gate client/mixed client/phases_fill net/health net/pool topology/memory'

tools=() tests=()
for word in "$@"; do
    case $word in
    memcheck | helgrind) tools+=("$word") ;;
    *) tests+=("$word") ;;
    esac
done
[[ ${#tools[@]} -gt 0 ]] || tools=(memcheck helgrind)

build=$source/build/check
log=$build/valgrind.log
reports=$build/valgrind
mkdir -p "$reports"
: >"$log"
# Everything takes some thirty times as long.
export TEST_SLACK_MS=${TEST_SLACK_MS:-5000} TEST_SECONDS=${TEST_SECONDS:-1}
export srcdir=$source top_builddir=$build

declare -A options=(
    [memcheck]='--leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite'
    [helgrind]='--history-level=none'
)

# errors TOOL TEST: how many the reports of its processes tell.
errors() {
    cat "$reports/$1.${2//\//-}".* | sed -n 's/.*ERROR SUMMARY: \([0-9]*\) errors.*/\1/p' |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# run_test TOOL TEST: one line; the first errors; what the test says if it fails.
total=0
run_test() {
    local tool=$1 name=$2 begin=$SECONDS status=0 count output leaks=()
    output=$reports/$1.${2//\//-}.out
    rm -f "$reports/$tool.${name//\//-}".*
    printf '  %-10s%-28s' "$tool" "$name"
    # A forked child cannot free what threads held that it does not have.
    [[ $tool != memcheck || $name != */fork ]] || leaks=(--errors-for-leak-kinds=none)
    # shellcheck disable=SC2086 # a list of options
    (cd "$build" && ./libtool --mode=execute valgrind --tool="$tool" ${options[$tool]} \
        ${leaks[@]+"${leaks[@]}"} \
        --suppressions="$source/scripts/valgrind.supp" --gen-suppressions=all \
        --log-file="$reports/$tool.${name//\//-}.%p.txt" "tests/$name.t") \
        >"$output" 2>&1 </dev/null || status=$?
    count=$(errors "$tool" "$name")
    printf '%4d errors %4d s\n' "$count" $((SECONDS - begin))
    if [[ $count -gt 0 ]]; then
        grep -hA 8 '==.*\(Possible data race\|Invalid\|uninit\|definitely lost in\|Thread #.*:\)' \
            "$reports/$tool.${name//\//-}".*.txt | head -n 30 | sed 's/^/    | /' || true
    fi
    if [[ $status -ne 0 ]]; then
        grep -v '^ok ' "$output" | head -n 20 | sed 's/^/    | /'
        count=$((count + 1))
    fi
    total=$((total + count))
}

echo "valgrind: ${tools[*]}"
[[ -z $(missing_packages build test valgrind) ]] ||
    step 'install packages' install_missing build test valgrind
bootstrap_if_needed
configure_in "$build" CC=gcc --enable-werror # as scripts/check.sh does
for tool in "${tools[@]}"; do
    list=${tests[*]:-${!tool}}
    # shellcheck disable=SC2046,SC2086 # a list of tests
    step "compile for $tool" make -C "$build" -j "$(nproc)" \
        $(printf 'tests/%s.t ' $list)
    for name in $list; do
        run_test "$tool" "$name"
    done
done
echo "$total errors"
[[ $total -eq 0 ]]
