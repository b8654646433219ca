#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program behind scripts/demo.sh, hurried: all phases in two seconds, and
# what the demo promises at its end.

. "$(dirname "$0")/lib/tap.sh"

sh "$source/examples/run.sh" with '4 + 2' "$build/bench/migration" -x 8 -k 2000 -r 8000 \
    -o "$scratch/samples" >"$scratch/table" 2>"$scratch/errors"
tap_ok $? "the migration and the flip end without a fault"
tap_empty "$scratch/errors" "nothing is complained about"

[ "$(tail -n 1 "$scratch/table")" = 'stale reads: 0' ]
tap_ok $? "no read was stale"

grep -q '^origin loads: cold [0-9]*, warm [0-9]*$' "$scratch/table"
tap_ok $? "the line before it has the origin loads"

# By the reads, since a busy machine may not manage as many in both runs.
awk -F '\t' 'NR > 1 { reads[$1] += $6; loads[$1] += $10 }
    END { exit !(loads["cold"] / reads["cold"] > loads["warm"] / reads["warm"]) }' \
    "$scratch/samples"
tap_ok $? "more of its reads load from the origin in the flip than in the migration"
sed 's/^/#   /' "$scratch/table"

phases=$(awk -F '\t' '$1 == "warm" && $4 != last { printf "%s ", $4; last = $4 }' "$scratch/samples")
[ "$phases" = 'STABLE PREPARED WARMING HANDOVER DRAINING CLOSING SETTLING STABLE ' ]
tap_ok $? "all phases are seen: $phases"

# Nobody is counted twice or forgotten: a read is a hit on one ring, or a load
# of a key that was deleted or lost, or waited for another's load.
awk -F '\t' 'NR > 1 { reads += $6; others += $7 + $8 + $9 + $10 }
    END { exit !(reads > 1000 && others <= reads * 1.01 && others >= reads * 0.97) }' \
    "$scratch/samples"
tap_ok $? "the columns add up to the reads"

tap_done
