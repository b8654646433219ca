#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/planning.md says what the formula and the command say; `make planning`
# makes its tables and pictures anew.

. "$(dirname "$0")/tool.sh"

document=$source/docs/planning.md

# table NAME: its rows, without commas and bars.
table() {
    sed -n "/^<!-- $1, made by planning.sh -->\$/,/^<!-- end -->\$/p" "$document" |
        sed -n 's/,//g; s/^| \([0-9].*\) |$/\1/p' | tr -d '|'
}

# Each number is the first that meets the target of its column.
table targets >"$scratch/targets"
awk '
    function cv(servers, points) { return sqrt((servers - 1) / (servers * points + 1)) }
    BEGIN { split("0 0.1 0.05 0.02 0.01", target, " ") }
    NF != 5 { print "not 5 columns: " $0 }
    {
        for (i = 2; i <= 5; i++)
            if (cv($1, $i) > target[i] || cv($1, $i - 1) <= target[i])
                print $1 " servers, " 100 * target[i] " %: " $i
    }' "$scratch/targets" >"$scratch/wrong"
[ "$(wc -l <"$scratch/targets")" -eq 4 ]
tap_ok $? 'targets for four sizes'
tap_empty "$scratch/wrong" 'each is what the formula says'

# The costs are those that the command prints; those in bytes are of a machine
# with 64-bit pointers.
costs_of_pointers=cat
echo '__SIZEOF_POINTER__' | $CC -E -P - | grep -q 8 || costs_of_pointers="sed s/[^ ]*.[KM]iB\$//"
table costs | sed 's/ x its share//; s/  */ /g' >"$scratch/costs"
for count in 3 30 300; do
    awk -v count=$count 'BEGIN {
        for (i = 1; i <= count; i++)
            printf "cache%04d=10.0.%d.%d:11211\n", i, i / 250, i % 250
    }' >"$scratch/servers"
    warmring plan --servers "$scratch/servers" --target 5% >"$scratch/out"
    sed -n 's/^-> *//p' "$scratch/out" | sed -E 's/ +[0-9.]+$//; s/  */ /g' |
        sed "s/^/$count /" | $costs_of_pointers >"$scratch/row"
    grep "^$count " "$scratch/costs" | $costs_of_pointers | diff - "$scratch/row" >"$scratch/difference"
    tap_empty "$scratch/difference" "what 5 % costs with $count servers (<: document; make planning)"
done

for count in 3 30 300 3000; do
    grep -q "(planning-$count.svg)" "$document" &&
        grep -q "ring of $count servers" "$source/docs/planning-$count.svg"
    tap_ok $? "the picture of $count servers"
done
for word in '--servers' '--target' '--svg' '--from-points' '--to-points'; do
    grep -q -- "$word" "$document" && {
        warmring plan --help
        warmring diff --help
    } | grep -- "$word " >/dev/null
    tap_ok $? "$word is an option"
done

tap_done
