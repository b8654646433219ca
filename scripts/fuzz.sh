#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes with libFuzzer under the address and undefined sanitizers, one target
# after the other, or those that are named: from the committed corpora and from
# what earlier runs found. Builds in build/fuzz first. From any directory:
#
#   scripts/fuzz.sh [TARGET...]
#
# From the environment:
#
#   FUZZ_SECONDS  how long each target runs (60)
#   FUZZ_RUNS     how many executions are enough (no limit)
#
# Inputs found stay in build/fuzz/found-TARGET, those that crash, time out or
# take too much memory in build/fuzz/crash-TARGET. Ends with a line for each
# target: executions, new units, crashes. Those that crashed make it fail.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

# target, its function, file and corpus below tests/fuzz, longest input
targets='
servers servers_fuzz servers_fuzz.c corpus-servers 1024
ring ring_fuzz ring_fuzz.c corpus-ring 512
steps steps_fuzz steps_fuzz.c corpus-steps 128
meta meta_fuzz meta_fuzz.c corpus-meta 4096
file file_fuzz file_fuzz.c corpus-file 2048
import import_fuzz file_fuzz.c corpus-import 1024
'

build=$source/build/fuzz
log=$build/fuzz.log
sanitizers=fuzzer-no-link,address,undefined
mkdir -p "$build"
: >"$log"

wanted() {
    local target function file corpus longest
    while read -r target function file corpus longest; do
        if [[ -n $target && ($# -eq 0 || " $* " == *" $target "*) ]]; then
            echo "$target $function $file $corpus $longest"
        fi
    done <<<"$targets"
}

chosen=$(wanted "$@")
if [[ $(grep -c . <<<"$chosen") -lt $# || -z $chosen ]]; then
    echo "The targets are: $(awk '{ print $1 }' <<<"$targets" | paste -sd ' ')" >&2
    exit 2
fi

# link_target TARGET FUNCTION FILE
link_target() {
    make -s -C "$build" "tests/fuzz/${3%.c}.o" &&
        clang -g -DTARGET="$2" -c -o "$build/libfuzzer-$1.o" "$source/tests/fuzz/libfuzzer.c" &&
        "$build/libtool" --tag=CC --mode=link clang -g -fsanitize=fuzzer,address,undefined \
            -pthread -o "$build/fuzz-$1" "$build/tests/fuzz/${3%.c}.o" \
            "$build/libfuzzer-$1.o" "$build/libwarmring-all.la" -lm
}

# statistic NAME: the last that libFuzzer printed to stdin.
statistic() {
    awk -v name="stat::$1:" '$1 == name { value = $2 } END { print value + 0 }'
}

# explain OUTPUT: what did not hold, where, and the input.
explain() {
    grep -E 'does not hold|ERROR|runtime error|SUMMARY|#[0-9]+ .*/(lib|tests/fuzz)/[a-z]|written to' "$1" |
        head -n 16 | sed 's/^/    | /'
    printf '    whole log: %s\n' "$1"
}

# run_target TARGET CORPUS LONGEST
run_target() {
    local found=$build/found-$1 crashes=$build/crash-$1 output=$build/fuzz-$1.log
    rm -rf "$crashes"
    mkdir -p "$found" "$crashes"
    # A weight may ask for a ring of millions of points: seconds, with sanitizers.
    "$build/fuzz-$1" -max_total_time="${FUZZ_SECONDS:-60}" -runs="${FUZZ_RUNS:--1}" -max_len="$3" -timeout=60 \
        -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$crashes/" \
        "$found" "$source/tests/fuzz/$2" >"$output" 2>&1 </dev/null || true
    printf '  %-10s%12d executions %8d new units %4d crashes\n' "$1" \
        "$(statistic number_of_executed_units <"$output")" \
        "$(statistic new_units_added <"$output")" \
        "$(find "$crashes" -type f | wc -l)"
    # It runs until its time is over, or not at all.
    grep -q '^Done ' "$output" && [[ -z $(find "$crashes" -type f) ]] ||
        { explain "$output" && return 1; }
}

echo "fuzz: clang -fsanitize=fuzzer,address,undefined"
[[ -z $(missing_packages build clang) ]] || step 'install packages' install_missing build clang
bootstrap_if_needed
configure_in "$build" CC=clang "--enable-sanitizers=$sanitizers" 'CFLAGS=-O1 -g'
step compile make -C "$build" -j "$(nproc)" libwarmring-all.la
while read -r target function file corpus longest; do
    step "link $target" link_target "$target" "$function" "$file"
done <<<"$chosen"
failed=0
while read -r target function file corpus longest; do
    run_target "$target" "$corpus" "$longest" || failed=1
done <<<"$chosen"
exit "$failed"
