#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring reweight on real servers: by a migration and at once.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3; do
    start_server
done
file=$scratch/fleet.json
topology "$file" 60 1 2 3
cp "$file" "$scratch/kept"
unchanged() {
    cmp -s "$file" "$scratch/kept"
    tap_ok $? '  the file is as it was'
}

refuses 2 'NAME=WEIGHT... is missing' reweight "$file"
for weight in b b= =3 b=x b=-1 b=1e3 b=.5 b=0x2 'b=1 '; do
    ends 2 reweight "$file" "$weight" --yes
    says err "\"$weight\""
done
refuses 1 'no server "z"' reweight "$file" b=2 z=3 --yes
refuses 1 'weight' reweight "$file" a=0 b=0 c=0 --yes
ends 2 reweight "$file" b=2
says err 'is no terminal'
ends 2 reweight "$file" b=2 --at-once
says err 'is no terminal'
unchanged

# What moves is what diff says, and only to and from the changed server.
list 1 2 3 >"$scratch/from"
list 1 2:2 3 >"$scratch/to"
ends 0 diff --from "$scratch/from" --to "$scratch/to" --json
moved=$(python3 -c 'import json, sys; print("%.2f %%" % (100 * json.load(open(sys.argv[1]))["moved"]))' \
    "$scratch/out")
ends 0 reweight "$file" b=2 --yes
says out "$moved of all keys move"
in_phase "$file" PREPARED
told 1
python3 - "$file" >"$scratch/weights" <<'END'
import json, sys
it = json.load(open(sys.argv[1]))
print([s["weight"] for s in it["ring"]["servers"]], [s["weight"] for s in it["migration"]["ring"]["servers"]])
END
[ "$(cat "$scratch/weights")" = '[1, 1, 1] [1, 2, 1]' ]
tap_ok $? 'from the old weights to the new ones'
cp "$file" "$scratch/kept"
refuses 1 'finish it or roll it back first' reweight "$file" c=2 --yes
ends 1 reweight "$file" c=2 --at-once --yes
says err 'migration is under way'
unchanged
age "$file"
ends 0 migrate rollback "$file" --yes
in_phase "$file" STABLE

# At once: no PREPARED, and servers need not be there.
kill_server 3
age "$file"
"$tool" reweight "$file" c=0.5 a=3 --at-once --yes >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'at once, though a server is away'
says out 'Nothing is copied'
says err 'c was not told'
in_phase "$file" STABLE
python3 - "$file" >"$scratch/weights" <<'END'
import json, sys
it = json.load(open(sys.argv[1]))
print([s["weight"] for s in it["ring"]["servers"]], it["steps"])
END
[ "$(cat "$scratch/weights")" = '[3, 1, 0.5] 3' ]
tap_ok $? 'the new weights, and one step more'
restart_server 3
age "$file"
ends 0 reweight "$file" c=0 --yes
says out 'of all keys move'
in_phase "$file" PREPARED

tap_done
