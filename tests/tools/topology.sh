#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring topology: files made, shown, checked and imported; and that its
# manual pages say what is so.

. "$(dirname "$0")/tool.sh"

file=$scratch/fleet.json
cat >"$scratch/servers" <<'END'
# three of them
a=10.0.0.1:11211:4
10.0.0.2
[fd00::7]:11212:0.5
END

# ---- init ----

refuses 2 'FILE is missing' topology init
refuses 2 '--servers FILE is missing' topology init "$file"
refuses 2 'unexpected argument "more"' topology init "$file" more --servers "$scratch/servers"
refuses 2 '--dialect "x"' topology init "$file" --servers "$scratch/servers" --dialect x
for option in --lag --max-deadline --max-ttl; do
    refuses 2 "$option \"1.5\"" topology init "$file" --servers "$scratch/servers" $option 1.5
    refuses 2 "$option \"-1\"" topology init "$file" --servers "$scratch/servers" $option -1
done
refuses 2 '--lag "86401"' topology init "$file" --servers "$scratch/servers" --lag 86401
refuses 2 'lag_s 0 is not from 1' topology init "$file" --servers "$scratch/servers" --lag 0
refuses 1 'No such file or directory' topology init "$scratch/none/x.json" \
    --servers "$scratch/servers"
printf 'h1\nh2:0\n' >"$scratch/bad"
refuses 1 'bad:2: port "0"' topology init "$file" --servers "$scratch/bad"
[ ! -e "$file" ]
tap_ok $? 'no file so far'

ends 0 topology init "$file" --servers "$scratch/servers" --points 100 --lag 7 --max-ttl 60
says out 'fleet.json: 3 servers, dialect v2, 550 points'
[ "$(stat -c %a "$file")" = 644 ]
tap_ok $? 'its mode is 644'
cp "$file" "$scratch/out"
json 'it["lag_s"] == 7 and it["max_deadline_ms"] == 5000 and it["max_ttl_s"] == 60' 'settings'
json 'it["phase"] == "STABLE" and it["epoch"] == 1 and it["steps"] == 0' 'state'
json '[s["address"] for s in it["ring"]["servers"]] == ["10.0.0.1:11211", "10.0.0.2", "[fd00::7]:11212"]' \
    'servers as they were written'
cp "$file" "$scratch/kept"
refuses 1 'there is one already' topology init "$file" --servers "$scratch/servers"
cmp -s "$file" "$scratch/kept"
tap_ok $? 'what is there stays there'

# ---- check and show ----

ends 0 topology check "$file"
says out 'good, phase STABLE, epoch 1'
ends 0 topology show "$file"
says out 'phase STABLE since 2'
says out 'Clients: lag 7 s, deadlines up to 5000 ms, TTLs up to 60 s'
says out 'Ring: dialect v2, 550 points'
ends 0 topology show "$file" --json
json 'abs(sum(s["share"] for s in it["rings"][0]["servers"]) - 1) < 1e-9' 'shares'
json 'it["rings"][0]["servers"][2] | {"share": 0} == {"server": "[fd00::7]:11212", "weight": 0.5, "share": 0}' \
    'a server'
refuses 1 'none.json: cannot open: No such file' topology check "$scratch/none.json"
for command in check show; do
    sed 's/"weight": 4/"weight": "x"/' "$file" >"$scratch/bad.json"
    refuses 1 'bad.json:15: ring.servers[0].weight: "x" is not a number' \
        topology $command "$scratch/bad.json"
    chmod 666 "$file"
    refuses 1 'mode 0666: everybody may write to it' topology $command "$file"
    ends 0 topology $command "$file" --any-writer
    chmod 644 "$file"
    refuses 2 'FILE is missing' topology $command
done

# The example of the manual page is a good file, laid out as warmring does,
# and shows what a migration looks like.
page=$source/docs/man/warmring-topology.5
sed -n '/^\.SH EXAMPLE/,/^\.fi/p' "$page" | sed '1,2d;$d' >"$scratch/example.json"
if [ "$with_libmemcached" = 1 ]; then
    ends 0 topology check "$scratch/example.json"
    says out 'good, phase WARMING, epoch 7'
    ends 0 topology show "$scratch/example.json"
    says out 'Old ring: dialect twemproxy'
    says out 'New ring: dialect v2, 2500 points'
    says out 'Rollout: 25 %, rome 100 % of the keys that move'
    says out 'Step COMMIT: now'
    says out 'Step ROLLBACK: now'
    ends 0 topology show "$scratch/example.json" --json
    json 'it["possible"] == {"COMMIT": 0, "ROLLBACK": 0} and it["scopes"] == {"rome": 10000}' \
        'the steps that are possible'
    json '[r["side"] for r in it["rings"]] == ["old", "new"]' 'both rings'
    now=$(date +%s)
    sed "s/\"since\": [0-9]*/\"since\": ${now}000/" "$scratch/example.json" >"$scratch/young.json"
    ends 0 topology show "$scratch/young.json" --json
    json '5000 < it["possible"]["COMMIT"] <= 11000' 'a hold of 11 s that has just begun'
else
    tap_skip 'no dialect twemproxy'
fi
# Every key that a file may have is in the page.
sed -n 's/^\.B \([a-z_]*\)$/\1/p; s/^\.BR \([a-z_]*\) ,$/\1/p' "$page" | sort -u >"$scratch/paged"
grep -oE '"[a-z_]+"' "$source/lib/topology/file_parse.c" "$source/lib/topology/file_ring.c" |
    sed 's/.*"\(.*\)"/\1/' | sort -u >"$scratch/words"
for key in warmring id epoch steps phase since lag_s max_deadline_ms max_ttl_s ring migration \
    dialect points_per_weight max_points hash hash_tag servers name address weight seed \
    backwards rollout scopes ramps scope from begins ends watermarks cas started; do
    grep -qx "$key" "$scratch/paged" && grep -qx "$key" "$scratch/words"
    tap_ok $? "warmring-topology.5: $key"
done

# ---- import ----

ends 2 topology
says err 'topology import'
refuses 2 'SOURCE is missing' topology import list
refuses 2 'FILE is missing' topology import list "$scratch/servers"
refuses 2 'unknown format "redis"' topology import redis "$scratch/servers" "$scratch/i.json"
refuses 1 'none: No such file' topology import list "$scratch/none" "$scratch/i.json"
refuses 1 'cannot read: Is a directory' topology import list "$scratch" "$scratch/i.json"

# imported FORMAT EXPRESSION: of $scratch/source, with the options behind.
imported() {
    format=$1 expression=$2
    shift 2
    rm -f "$scratch/i.json"
    ends 0 topology import "$format" "$scratch/source" "$scratch/i.json" "$@"
    cp "$scratch/out" "$scratch/said"
    cp "$scratch/i.json" "$scratch/out"
    json "$expression" "  $expression"
    cp "$scratch/said" "$scratch/out"
}

echo '10.0.0.1:11211:2,10.0.0.2:11212' >"$scratch/source"
imported list 'it["ring"]["dialect"] == "nginx" and it["ring"]["servers"][0]["weight"] == 2' \
    --dialect nginx --lag 9
imported list 'it["lag_s"] == 9 and it["ring"]["points_per_weight"] == 50' --lag 9 --points 50
refuses 1 'there is one already' topology import list "$scratch/source" "$scratch/i.json"

cat >"$scratch/source" <<'END'
upstream cache {
    hash $request_uri consistent;
    server 10.0.0.1:11211 weight=2;
    server 10.0.0.2:11211 backup;
}
upstream other { server 10.0.0.3:11211; }
END
refuses 1 "$scratch/source: choose one of the upstream blocks: cache, other" \
    topology import nginx "$scratch/source" "$scratch/j.json"
refuses 2 'option "--dialect" is for lists' topology import nginx "$scratch/source" \
    "$scratch/j.json" --section cache --dialect v2
imported nginx 'it["ring"] == {"dialect": "nginx", "servers": [{"address": "10.0.0.1:11211", "weight": 2}]}' \
    --section cache
says out 'note: line 2: $request_uri: what nginx hashes'
says out 'note: line 4: 10.0.0.2:11211: backup'

if [ "$with_libmemcached" = 1 ]; then
    echo '--SERVER=10.0.0.1 --DISTRIBUTION=modula --HASH=CRC --NAMESPACE="app:"' >"$scratch/source"
    imported libmemcached 'it["ring"]["dialect"] == "modula" and it["ring"]["hash"] == "crc32"'
    says out 'note: --NAMESPACE: give clients the option prefix=app:'
    echo '--SERVER=10.0.0.1 --HASHH=CRC' >"$scratch/source"
    refuses 1 "$scratch/source:1: word \"--HASHH=CRC\": unknown" topology import libmemcached \
        "$scratch/source" "$scratch/j.json"
else
    tap_skip 'no dialects of libmemcached'
fi
if [ "$with_libmemcached$with_libyaml" = 11 ]; then
    printf 'cache:\n  hash: md5\n  hash_tag: "{}"\n  servers:\n    - 10.0.0.1:11211:2 one\n' >"$scratch/source"
    imported twemproxy 'it["ring"] == {"dialect": "twemproxy", "hash": "md5", "hash_tag": "{}", "servers": [{"name": "one", "address": "10.0.0.1:11211", "weight": 2}]}'
else
    printf 'cache:\n' >"$scratch/source"
    ends 1 topology import twemproxy "$scratch/source" "$scratch/j.json"
    tap_skip 'no libyaml, or no dialect twemproxy'
fi
[ ! -e "$scratch/j.json" ]
tap_ok $? 'what is refused makes no file'
"$tool" topology import list - "$scratch/k.json" <"$scratch/servers" >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'a list from standard input'

# ---- the manual page ----

for command in init show check import; do
    ends 0 topology $command --help
    says out "Usage: warmring topology $command"
    grep -oE '^  --[a-z-]+' "$scratch/out"
done >"$scratch/all"
grep -v '^  --' "$scratch/all"
grep -E '^  --' "$scratch/all" | grep -v -e '--help' | sort -u >"$scratch/helped"
sed 's/\\-/-/g' "$source/docs/man/warmring-topology.1" | grep -oE '^\.B[RI]* --[a-z-]+' |
    sed 's/^\.B[RI]* /  /' | grep -v -e '--help' -e '--servers$' | sort -u >"$scratch/paged"
grep -v -e '--servers$' "$scratch/helped" >"$scratch/rest"
[ -s "$scratch/rest" ] && diff "$scratch/rest" "$scratch/paged" >"$scratch/difference"
tap_ok $? 'warmring-topology.1 has the options of --help'
sed 's/^/#   /' "$scratch/difference"

tap_done
