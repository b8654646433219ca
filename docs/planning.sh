#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes what docs/planning.md shows: the pictures (docs/planning-*.svg) and the
# tables. Usage: docs/planning.sh DIRECTORY [WARMRING]
#
# Puts the pictures and a planning.md with fresh tables into DIRECTORY, with
# the command WARMRING (warmring). `make planning` runs it on docs/ itself.
set -eu

directory=$1
warmring=${2:-warmring}
source=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# servers COUNT: named ones, all alike.
servers() {
    awk -v count="$1" 'BEGIN {
        for (i = 1; i <= count; i++)
            printf "cache%04d=10.0.%d.%d:11211\n", i, i / 250, i % 250
    }'
}

for count in 3 30 300 3000; do
    servers $count >"$scratch/$count"
done
# A few large servers and many small ones, in gigabytes.
awk 'BEGIN {
    for (i = 1; i <= 24; i++) printf "cache%02d=10.0.0.%d:11211:%d\n", i, i, i <= 4 ? 256 : 32
}' >"$scratch/gigabytes"

# recommended FILE TARGET: the row that plan marks, without the arrow.
recommended() {
    "$warmring" plan --servers "$scratch/$1" --target "$2" | sed -n 's/^-> *//p'
}

# with_commas: 1234567 as 1,234,567.
with_commas() {
    sed -E ':again; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; t again'
}

# The points per weight for some targets.
targets() {
    echo '| equal servers | CV 10 % | 5 % | 2 % | 1 % |'
    echo '|---|---|---|---|---|'
    for count in 3 30 300 3000; do
        printf '| %s ' "$(echo $count | with_commas)"
        for target in 10% 5% 2% 1%; do
            points=$("$warmring" plan --servers "$scratch/$count" --target $target |
                sed -n 's/^Recommended: \([0-9.]*\) .*/\1/p')
            printf '| %s ' "$(echo "$points" | with_commas)"
        done
        echo '|'
    done
}

# What 5 % costs.
costs() {
    echo '| servers | points per weight | points | CV by theory | measured | fullest server | memory |'
    echo '|---|---|---|---|---|---|---|'
    for count in 3 30 300 3000; do
        recommended $count 5% | while read -r density points theory _ measured _ most memory unit _; do
            printf '| %s | %s | %s | %s %% | %s %% | %s x its share | %s %s |\n' \
                "$(echo $count | with_commas)" "$density" "$(echo "$points" | with_commas)" \
                "$theory" "$measured" "$most" "$memory" "$unit"
        done
    done
}

# The recommendation for weights in gigabytes.
gigabytes() {
    echo '```console'
    echo '$ warmring plan --servers gigabytes.txt --target 5%'
    "$warmring" plan --servers "$scratch/gigabytes" --target 5% | grep '^Recommended'
    echo '```'
}

# What a change of density moves.
density() {
    echo '```console'
    echo '$ warmring diff --from 30.txt --to 30.txt --from-points 160 --to-points 387'
    "$warmring" diff --from "$scratch/30" --to "$scratch/30" --from-points 160 --to-points 387 |
        grep '^moved'
    echo '```'
}

mkdir -p "$directory"
for count in 3 30 300 3000; do
    "$warmring" plan --servers "$scratch/$count" --target 5% --svg "$scratch/planning-$count.svg" \
        >/dev/null
done
for table in targets costs gigabytes density; do
    $table >"$scratch/table-$table"
done
awk -v scratch="$scratch" '
    /^<!-- end -->$/ { skipping = 0 }
    !skipping { print }
    /^<!-- [a-z]+, made by planning.sh -->$/ {
        while ((getline line < (scratch "/table-" substr($2, 1, length($2) - 1))) > 0) print line
        skipping = 1
    }' "$source/planning.md" >"$scratch/planning.md"
mv "$scratch/planning.md" "$scratch"/planning-*.svg "$directory"
