#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# User-space instructions per read in each phase of a migration, beside STABLE,
# counted by callgrind as the difference between a short run and a longer one.
# No clock is involved, so a busy machine gives the same numbers.
# Tab-separated.
#
#   phases.sh OLD NEW...     `make bench-migration` runs it
#
# From the environment: phases, the bench program, and libtool, to run it with.
set -eu

command -v valgrind >/dev/null || {
    echo "phases.sh: valgrind is missing; on Debian: apt-get install valgrind" >&2
    exit 1
}
count=20000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# total PHASE KEYS COUNT SERVERS...: instructions of a whole run.
total() {
    $libtool --mode=execute valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$phases" "$@" >"$scratch/log" 2>&1 </dev/null || {
        cat "$scratch/log" >&2
        exit 1
    }
    sed -n 's/^==[0-9]*== Collected : //p' "$scratch/log"
}

# each PHASE KEYS SERVERS...: instructions of one read.
each() {
    phase=$1 keys=$2
    shift 2
    few=$(total "$phase" "$keys" $count "$@") || exit 1
    many=$(total "$phase" "$keys" $((2 * count)) "$@") || exit 1
    echo $(((many - few) / count))
}

total STABLE moved 1 "$@" >"$scratch/first" # what it leaves on the servers, all others find

printf 'read\tmetric\tphase\tstable\tratio\n'
for keys in unmoved moved; do
    stable=$(each STABLE $keys "$@") || exit 1
    for phase in ${PHASES:-WARMING HANDOVER DRAINING CLOSING SETTLING}; do
        instructions=$(each "$phase" $keys "$@") || exit 1
        echo "${TRANSPORT:-meta}, $phase, $keys $instructions $stable" | awk '{
            printf "%s %s %s\tinstructions\t%d\t%d\t%.3f\n", $1, $2, $3, $4, $5, $4 / $5 }'
    done
done
