#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring stat against what servers say themselves.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3; do
    start_server
done
file=$scratch/fleet.json
topology "$file" 60 1 2:2
list 1 2:2 >"$scratch/servers"
list 2:2 3 >"$scratch/to"

python3 - "$(port_of 1)" "$(port_of 2)" <<'END'
import socket, sys
for port, items in ((sys.argv[1], 30), (sys.argv[2], 10)):
    server = socket.create_connection(("127.0.0.1", int(port)))
    text = "".join("set k%d 0 0 3\r\nabc\r\n" % i for i in range(items))
    text += "get k1\r\n" * 3 + "get none\r\n" + "mn\r\n"
    server.sendall(text.encode())
    reply = b""
    while not reply.endswith(b"MN\r\n"):
        reply += server.recv(65536)
END

# number SERVER NAME: of `stats`.
number() {
    ask "$1" stats | tr -d '\r' | sed -n "s/^STAT $2 //p"
}

# What a list, a file of servers and a topology file have in common.
check_servers() {
    json "[s['server'] for s in it['servers']] == ['a', 'b'] and
        [s['items'] for s in it['servers']] == [$(number 1 curr_items), $(number 2 curr_items)] == [30, 10] and
        [s['item_share'] for s in it['servers']] == [0.75, 0.25]" "$1: items"
    json "[s['memory_used'] for s in it['servers']] == [$(number 1 bytes), $(number 2 bytes)] and
        all(s['memory_limit'] == 64 << 20 and s['evictions'] == 0 for s in it['servers'])" "$1: memory"
    json "all(s['version'] == '$(number 1 version)' and s['connections'] >= 1 and s['reachable']
        for s in it['servers'])" "$1: version, connections"
    json "all(abs(s['hit_rate'] - 0.75) < 1e-9 for s in it['servers'])" "$1: hits"
    json "abs(sum(s['ring_share'] for s in it['servers']) - 1) < 1e-9 and
        abs(it['servers'][1]['ring_share'] - 2 / 3) < 0.05" "$1: shares of the ring"
}
ends 0 stat "$(paste -sd , "$scratch/servers")" --json
check_servers 'a list'
json '"phase" not in it and "steps" not in it["servers"][0]' 'it has no phase'
ends 0 stat "$scratch/servers" --json
check_servers 'a file of servers'
ends 0 stat "$file" --json # asks for the fence, too: a miss at the next look
check_servers 'a topology file'
json 'it["phase"] == "STABLE" and it["steps"] == 0 and
    [s["steps"] for s in it["servers"]] == [None, None]' 'nobody was told of a step'
warmring balance --servers "$scratch/servers" --json >"$scratch/balance"
json "abs(it['servers'][0]['ring_share'] -
    [s['share'] for s in json.load(open('$scratch/balance'))['servers'] if s['server'] == 'a'][0]) < 1e-9" \
    'as balance has them'

ends 0 migrate begin "$file" --to "$scratch/to" --yes
ends 0 stat "$file" --json
json '[s["server"] for s in it["servers"]] == ["a", "b", "c"] and it["phase"] == "PREPARED" and
    [s["steps"] for s in it["servers"]] == [1, 1, 1] and it["servers"][2]["ring_share"] == 0' \
    'a migration: both rings, the share of the present one'

# The table: aligned, a line for each.
kill_server 3
"$tool" stat "$file" --deadline 500 >"$scratch/out" 2>"$scratch/err"
tap_ok $? 'a server that is away is no failure'
says err "127.0.0.1:$(port_of 3): connection refused"
says out 'phase PREPARED, steps 1'
awk 'NR == 2 { for (i = 1; i <= NF; i++) head[i] = $i; n = NF; width = length($0) }
    NR > 2 { lines++; wrong += length($0) != width }
    END { exit !(lines == 3 && wrong == 0 && head[1] == "server") }' "$scratch/out"
tap_ok $? 'the table is aligned'
grep '^c ' "$scratch/out" | grep -q away
tap_ok $? 'and says who is away'
"$tool" stat "$file" --json >"$scratch/out" 2>/dev/null
json 'not it["servers"][2]["reachable"] and "refused" in it["servers"][2]["fault"]' 'JSON, too'

# Watching: since the last time. One value a line, until it is ended.
"$tool" stat "$scratch/servers" --watch --interval 1 --json >"$scratch/watched" 2>"$scratch/err" &
watcher=$!
tries=0
until [ -s "$scratch/watched" ] || [ "$tries" -gt 100 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
ask 1 "$(printf 'get k1\r\nget k2\r\nget k3\r\nget k4\r\nget none')" >/dev/null
until [ "$(grep -c '^{' "$scratch/watched")" -ge 3 ] || [ "$tries" -gt 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
kill "$watcher"
wait "$watcher" 2>/dev/null
head -n 3 "$scratch/watched" | paste -sd , | sed 's/.*/[&]/' >"$scratch/out"
json 'len(it) == 3 and [0.8] == [i["servers"][0]["hit_rate"] for i in it[1:] if
    i["servers"][0]["hit_rate"] is not None]' 'hits since the last time'

refuses 1 'no file, and no servers' stat /nonexistent/x
refuses 2 'FILE|SERVERS is missing' stat
refuses 2 '--interval' stat "$file" --interval 0
refuses 2 '--dialect "x"' stat h1 --dialect x
echo '{' >"$scratch/broken"
refuses 1 "$scratch/broken:" stat "$scratch/broken"

tap_done
