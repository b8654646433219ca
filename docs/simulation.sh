#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes what docs/simulation.md shows: the plots (docs/simulation-*.svg) and the
# tables. Usage: docs/simulation.sh DIRECTORY FLEET-SIM [NAME=NUMBER...]
#
# Puts the plots and a simulation.md with fresh tables into DIRECTORY. The
# numbers are options of the first, large fleet. `make plot-sim` runs it on docs/
# itself, which takes a minute of one core.
set -eu

directory=$1
simulate=$2
shift 2
source=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# with_commas: 1234567 as 1,234,567.
with_commas() {
    sed -E ':again; s/([0-9])([0-9]{3})($|[^0-9])/\1,\2\3/; t again'
}

# plot NAME VARIABLE...: the samples as a picture.
plot() {
    name=$1
    shift
    awk -f "$source/warm-migration.awk" -v maker='make plot-sim' -v width=350 -v tick=60 \
        -v 'runs=cold|key|site' -v 'titles=cold flip|rollout by key|rollout by site' "$@" \
        "$scratch/samples" >"$scratch/simulation-$name.svg"
}

# The runs of the large fleet.
runs() {
    echo '| | hits before | loads a second before | peak in the rollout | peak | extra loads | stale hits | commands an operation |'
    echo '|---|---|---|---|---|---|---|---|'
    awk -F '\t' '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        {
            name = $1 == "cold" ? "cold flip" : "rollout by " $1
            printf "| %s | %.2f %% | %d | %s | %d | %d | %d | %.2f |\n", name, $at["hits_before"],
                $at["loads_before"], $at["loads_rollout"], $at["loads_peak"], $at["loads_extra"],
                $at["stale"], $at["commands_per_operation"]
        }' "$scratch/runs" | with_commas
}

# What a run says of what moves.
moved() {
    echo '```text sample'
    awk -F '\t' '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 == "cold" {
            printf "hit rate before the change   %.3f %%, by the formula %.3f %%\n",
                $at["hits_before"], $at["hits_model"]
            printf "keys that move               %.3f %%, the exact part of the rings\n", 100 * $at["moved"]
            printf "keys the cold flip loses     %.3f %% of those that were cached and read\n",
                100 * $at["lost_first"]
        }' "$scratch/runs"
    echo '```'
}

# Smaller fleets: peaks over sets, as multiples of the loads before, the least
# and the most of three seeds.
sets() {
    echo '| sets | cold flip | in the rollout by key | at its commit |'
    echo '|---|---|---|---|'
    for sets in 0 10 100; do
        for seed in 1 2 3; do
            "$simulate" keys=100000 rate=5000 seed=$seed sets_per_10000=$sets
        done | awk -F '\t' -v sets=$sets '
            function see(what, times) {
                if (!(what in least) || times < least[what]) least[what] = times
                if (times > most[what]) most[what] = times
            }
            function range(what) { return sprintf("%.1f to %.1f x", least[what], most[what]) }
            $1 == "run" { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { before = $at["loads_before"] }
            $1 == "cold" { see("cold", $at["loads_peak"] / before) }
            $1 == "key" { see("rollout", $at["loads_rollout"] / before); see("commit", $at["loads_peak"] / before) }
            END { printf "| %s %% | %s | %s | %s |\n", sets / 100, range("cold"), range("rollout"), range("commit") }'
    done
}

mkdir -p "$directory"
"$simulate" -o "$scratch/samples" "$@" >"$scratch/runs"
plot hits -v series=hit_rate -v unit=', per cent' -v bottom=88 -v step=100
plot loads -v series=origin_loads -v unit=', per second' -v step=2000
plot servers -v series='old_mean new_mean' -v unit=', commands per second' -v step=20
for table in moved runs sets; do
    $table >"$scratch/table-$table"
done
awk -v scratch="$scratch" '
    /^<!-- end -->$/ { skipping = 0 }
    !skipping { print }
    /^<!-- [a-z]+, made by simulation.sh -->$/ {
        while ((getline line < (scratch "/table-" substr($2, 1, length($2) - 1))) > 0) print line
        skipping = 1
    }' "$source/simulation.md" >"$scratch/simulation.md"
mv "$scratch/simulation.md" "$scratch"/simulation-*.svg "$directory"
