#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# User-space instructions per operation, of a multi-get per key, counted by
# callgrind as the difference between a short run and a longer one. No clock
# is involved, so a busy machine gives the same numbers. Tab-separated.
#
#   instructions.sh HOST:PORT,HOST:PORT,...     `make bench-net` runs it
#
# From the environment: net, the bench program, and libtool, to run it with.
set -eu

command -v valgrind >/dev/null || {
    echo "instructions.sh: valgrind is missing; on Debian: apt-get install valgrind" >&2
    exit 1
}
servers=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# total BENCH WAY COUNT: instructions of a whole run.
total() {
    $libtool --mode=execute valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$net" "$@" "$servers" >"$scratch/log" 2>&1 </dev/null || {
        cat "$scratch/log" >&2
        exit 1
    }
    sed -n 's/^==[0-9]*== Collected : //p' "$scratch/log"
}

# each BENCH WAY COUNT DIVISOR: instructions of one operation.
each() {
    few=$(total "$1" "$2" "$3") || exit 1
    many=$(total "$1" "$2" $((2 * $3))) || exit 1
    echo $(((many - few) / ($3 * $4)))
}

# row NAME BENCH COUNT DIVISOR
row() {
    ours=$(each "$2" warmring "$3" "$4") || exit 1
    raw=$(each "$2" raw "$3" "$4") || exit 1
    theirs=$(each "$2" libmemcached "$3" "$4") || exit 1
    echo "$1 $ours $raw $theirs" | awk '{
        name = $1; gsub("_", " ", name)
        printf "%s\tinstructions\t%d\t%d\t%d\t%.3f\n", name, $2, $3, $4, $2 / $4 }'
}

printf 'bench\tmetric\twarmring\traw\tlibmemcached\tto_libmemcached\n'
row get get 2000 1
row set set 2000 1
row get_of_100_keys,_per_key get-100 200 100
