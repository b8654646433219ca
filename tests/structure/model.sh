#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pairs of phases that the model checks together are those that the client
# lets be in force together, with the same steps between them. Then a pair is
# changed in a copy, and the difference must be found.

. "$(dirname "$0")/../lib/tap.sh"

# What the model has: a line for each pair of the eight rows.
model_pairs() { grep -v '^#' "$1" | LC_ALL=C sort; }

# The same from the client's table: "=" is "at once".
client_pairs() {
    awk 'BEGIN { rows = 0 }
        /rules\[ROWS\]/ { inside = 1 }
        inside {
            line = $0
            while (match(line, /\[[A-Z_]+\] = "[^"]*"/)) {
                entry = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                split(entry, part, /[]["]/)
                name[rows] = part[2] == "OLD_STABLE" ? "STABLE_OLD" : \
                             part[2] == "NEW_STABLE" ? "STABLE_NEW" : part[2]
                rule[rows++] = part[4]
            }
        }
        inside && /};/ { exit }
        function at_once(a, b) { return substr(rule[a], b + 1, 1) == "=" }
        END {
            for (a = 0; a < rows; a++)
                for (b = a + 1; b < rows; b++) {
                    if (name[a] == "STABLE_OLD" && name[b] == "STABLE_NEW")
                        continue
                    forward = at_once(a, b)
                    back = at_once(b, a)
                    steps = forward && back ? "both" : forward ? "forward" : back ? "back" : "none"
                    print name[a] "\t" name[b] "\t" (steps == "none" ? "refused" : "allowed") "\t" steps
                }
        }' "$1" | LC_ALL=C sort
}

client=$source/lib/topology/follow.c
client_pairs "$client" >"$scratch/client"
model_pairs "$source/spec/pairs.txt" >"$scratch/model"

[ "$(wc -l <"$scratch/client")" -eq 27 ]
tap_ok $? "the client's table has eight rows"
diff "$scratch/client" "$scratch/model" >"$scratch/difference"
tap_empty "$scratch/difference" "the model checks the pairs that the client allows (<: client, >: model)"

sed 's/\[WARMING\] = "P===a/[WARMING] = "P====/' "$client" >"$scratch/changed.c"
client_pairs "$scratch/changed.c" | diff - "$scratch/model" >"$scratch/difference"
[ "$(grep -c 'WARMING.DRAINING' "$scratch/difference")" -eq 2 ]
tap_ok $? "a pair allowed by the client alone is found"

tap_done
