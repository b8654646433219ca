#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring migrate on real servers: to the end and back, and what is refused.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3 4; do
    start_server
done
start_server -C
file=$scratch/fleet.json
topology "$file" 60 1 2 3
list 2:2 3:2 4 >"$scratch/to"
list 2 5 >"$scratch/without-cas"

# keep, and unchanged: the topology file is what it was then.
keep() {
    cp "$file" "$scratch/kept"
}
unchanged() {
    cmp -s "$file" "$scratch/kept"
    tap_ok $? '  the file is as it was'
}

# ---- begin ----

keep
refuses 2 '--to SERVERS is missing' migrate begin "$file"
ends 2 migrate begin "$file" --to "$scratch/to"
says err 'is no terminal'
says out 'of all keys move'
says out 'Writers that do not use warmring'
unchanged
ends 1 migrate begin "$file" --to "$scratch/without-cas" --yes
says err "127.0.0.1:$(port_of 5)"
says err '-C'
unchanged
refuses 1 'No such file' migrate begin "$file" --to "$scratch/none" --yes
chmod 666 "$file"
refuses 1 'may write to it' migrate begin "$file" --to "$scratch/to" --yes
chmod 644 "$file"
on_terminal no migrate begin "$file" --to "$scratch/to"
[ "$status" -eq 1 ]
tap_ok $? 'the answer no ends it'
says out 'Have all other writers stopped'
says out 'nothing was changed'
unchanged
kill_server 4
ends 1 migrate begin "$file" --to "$scratch/to" --yes
says err "127.0.0.1:$(port_of 4)"
unchanged
restart_server 4
on_terminal yes migrate begin "$file" --to "$scratch/to"
[ "$status" -eq 0 ]
tap_ok $? 'the answer yes goes on'
in_phase "$file" PREPARED
told 1

# What moves is what diff says.
list 1 2 3 >"$scratch/from"
ends 0 diff --from "$scratch/from" --to "$scratch/to" --json
moved=$(python3 -c 'import json, sys; print("%.2f %%" % (100 * json.load(open(sys.argv[1]))["moved"]))' \
    "$scratch/out")
ends 2 migrate warm "$file" 10
says out "$moved of all keys move"

# ---- illegal steps ----

keep
refuses 1 'phase PREPARED: finish this migration' migrate begin "$file" --to "$scratch/from" --yes
ends 0 migrate begin "$file" --to "$scratch/to" --yes
says out 'phase PREPARED already'
refuses 1 'phase PREPARED, where there is nothing to commit' migrate commit "$file" --yes
refuses 1 'phase PREPARED, where there is nothing to finish' migrate finish "$file" --yes
refuses 1 'ends SETTLING' migrate finish "$file" --settled --yes
refuses 1 'phase PREPARED' reweight "$file" b=3 --yes
for percent in x -1 101 100.001 1e1 '' 5%% .5 nan; do
    refuses 2 "PERCENT \"$percent\"" migrate warm "$file" -- "$percent"
done
refuses 2 '--ramp "x"' migrate warm "$file" 5 --ramp x
refuses 2 'PERCENT is missing' migrate warm "$file"
refuses 2 'FILE is missing' migrate commit
refuses 2 '--deadline "0"' migrate commit "$file" --deadline 0
refuses 1 "$scratch/none.json" migrate commit "$scratch/none.json" --yes
unchanged

# ---- a wait that is interrupted ----

sed -i "s/^\( *\"lag_s\": \)1/\1600/" "$file"
keep
interrupted migrate warm "$file" 10 --yes
[ "$status" -eq 130 ]
tap_ok $? 'a wait is interrupted'
says err 'PREPARED has to last for another'
unchanged
sed -i "s/^\( *\"lag_s\": \)600/\11/" "$file"
"$tool" migrate warm "$file" 10 --yes >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'the same command goes on'
in_phase "$file" WARMING
told 2
ends 0 migrate status "$file" --json
json 'it["phase"] == "WARMING" and it["rollout"] == {"all": 1000, "scopes": {}} and
    it["steps"] == 2 and it["next"] == "commit" and not it["backwards"]' '  with its rollout'

# ---- rollouts ----

ends 0 migrate warm "$file" 25% --scope berlin --yes
ends 0 migrate warm "$file" 0.05 --scope oslo --ramp 3600 --yes
ends 0 migrate status "$file" --json
json 'it["rollout"] == {"all": 1000, "scopes": {"berlin": 2500, "oslo": it["rollout"]["scopes"]["oslo"]}} and
    5 <= it["rollout"]["scopes"]["oslo"] <= 1000 and it["steps"] == 2' 'scopes have their own, no steps'
ends 0 migrate status "$file"
says out 'berlin'
says out ' UTC'
says out 'on its way to 0.05 %'
keep
ends 1 migrate warm "$file" 5 --scope 'a b' --yes
says err 'scope "a b"'
unchanged
ends 0 migrate warm "$file" 100 --yes
ends 0 migrate status "$file" --json
json 'it["rollout"] == {"all": 10000, "scopes": {}}' 'one for all forgets them'

# ---- a server that is away ----

age "$file"
kill_server 4
keep
ends 1 migrate commit "$file" --yes --deadline 1000
says err 'd cannot be reached'
says err 'nothing was changed'
unchanged
ends 1 migrate commit "$file" --yes --deadline 1000 --force
says err "127.0.0.1:$(port_of 4)"
unchanged
"$tool" migrate warm "$file" 50 --yes --force >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'a rollout, though a server is away'
says err 'd was not told of this step'
restart_server 4
ends 0 migrate announce "$file"
told 2

# ---- two operators ----

: >"$scratch/winners"
sed -i "s/^\( *\"since\": \)[0-9]*/\1$(date +%s)000/" "$file"
for operator in 1 2; do
    {
        "$tool" migrate commit "$file" --yes >"$scratch/out.$operator" 2>"$scratch/err.$operator"
        echo $? >>"$scratch/winners"
    } &
    eval "operator_$operator=$!"
done
wait "$operator_1" "$operator_2"
[ "$(sort "$scratch/winners" | paste -sd ' ')" = '0 1' ]
tap_ok $? 'of two who commit at once one does'
cat "$scratch/err.1" "$scratch/err.2" >"$scratch/err"
grep -qE 'somebody else|no longer|changed' "$scratch/err"
tap_ok $? '  the other is told why'
sed 's/^/#   /' "$scratch/err"
in_phase "$file" DRAINING
told 4
handover=$(cat "$scratch/out.1" "$scratch/out.2" | grep -c 'phase HANDOVER')
[ "$handover" -ge 1 ]
tap_ok $? '  by way of HANDOVER'

# ---- to the end ----

began=$(date +%s%3N)
age "$file"
"$tool" migrate finish "$file" --yes >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'finish'
says out 'phase CLOSING'
says out "warmring sweep $file --delete --hashed-by-key"
in_phase "$file" SETTLING
[ $(($(field "$file" since) - began)) -ge 6100 ]
tap_ok $? '  CLOSING lasted as long as it has to: the hold, the life of a lease, a second'
told 6
keep
ends 1 migrate finish "$file" --yes
says err 'SETTLING is not over'
says out 'They are gone in'
ends 1 migrate rollback "$file" --yes
says err 'only another migration'
unchanged
sed -i 's/^\( *"max_ttl_s": \)[0-9]*/\10/' "$file"
ends 1 migrate finish "$file" --yes
says out 'max_ttl_s'
age "$file"
ends 0 migrate finish "$file" --settled --yes
in_phase "$file" STABLE
told 7
ends 0 migrate status "$file" --json
json '[s["server"] for s in it["servers"]] == ["b", "c", "d"]' '  on the new ring'

# ---- and back ----

list 1 2 3 4 >"$scratch/to"
age "$file"
ends 0 migrate begin "$file" --to "$scratch/to" --yes
age "$file"
ends 0 migrate warm "$file" 100 --yes
age "$file"
sed -i "s/^\( *\"lag_s\": \)1/\1600/" "$file"
interrupted migrate commit "$file" --yes
[ "$status" -eq 130 ]
tap_ok $? 'a commit is interrupted between its steps'
in_phase "$file" HANDOVER
told 10
sed -i "s/^\( *\"lag_s\": \)600/\11/" "$file"
"$tool" migrate commit "$file" --yes >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'the same command goes on'
in_phase "$file" DRAINING
kill_server 1
age "$file"
"$tool" migrate rollback "$file" --yes --deadline 1000 >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'rollback, though a new server is away'
says out 'phase HANDOVER'
says out 'phase PREPARED'
says err 'a was not told of this step'
in_phase "$file" STABLE
ends 0 migrate status "$file" --json
json '[s["server"] for s in it["servers"]] == ["b", "c", "d"] and it["steps"] == 14' '  on the old ring'
ends 1 migrate rollback "$file" --yes
says err 'nothing to roll back'

tap_done
