#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring sweep on real servers: through a whole migration, what is swept is
# what locate says, and what is left is what can be read.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3; do
    start_server
done
file=$scratch/fleet.json
topology "$file" 0 1 2
list 1 2 >"$scratch/from"
list 2 3 >"$scratch/to"
seq -f 'key:%.0f' 900 >"$scratch/keys"

# fill NUMBER: every key of standard input on this server.
fill() {
    python3 -c '
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
text = "".join("set %s 0 0 1\r\nx\r\n" % key.strip() for key in sys.stdin) + "mn\r\n"
server.sendall(text.encode())
reply = b""
while not reply.endswith(b"MN\r\n"):
    reply += server.recv(65536)
' "$(port_of "$1")"
}

# held NUMBER: the keys of $scratch/keys that this server has, sorted.
held() {
    python3 -c '
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
keys = [key.strip() for key in sys.stdin]
server.sendall(("".join("mg %s\r\n" % key for key in keys) + "mn\r\n").encode())
reply = b""
while not reply.endswith(b"MN\r\n"):
    reply += server.recv(65536)
for key, line in zip(keys, reply.decode().split("\r\n")):
    if line.startswith("HD"):
        print(key)
' "$(port_of "$1")" <"$scratch/keys" | sort
}

# Every server has every key before it begins; of a third the new owners get
# copies in WARMING, as clients make them.
for number in 1 2 3; do
    fill "$number" <"$scratch/keys"
done
ends 0 migrate begin "$file" --to "$scratch/to" --yes
age "$file"
ends 0 migrate warm "$file" 100 --yes
awk 'NR % 3 == 0' "$scratch/keys" >"$scratch/late"
for number in 2 3; do
    fill "$number" <"$scratch/late"
done
warmring locate --servers "$scratch/from" <"$scratch/keys" | sort >"$scratch/before"
warmring locate --servers "$scratch/to" <"$scratch/keys" | sort >"$scratch/after"
join -t "$(printf '\t')" "$scratch/before" "$scratch/after" >"$scratch/owners" # key, old, new
sort "$scratch/late" >"$scratch/late.sorted"

# kept NAME CONDITION: the keys that NAME has to keep, CONDITION in awk of
# `old`, `new`, `late` and `here`.
kept() {
    awk -F '\t' -v here="$1" 'FNR == NR { is_late[$1] = 1; next }
        { old = $2; new = $3; late = $1 in is_late; if ('"$2"') print $1 }' \
        "$scratch/late.sorted" "$scratch/owners"
}

# check NUMBER NAME CONDITION: it has exactly those.
check() {
    kept "$2" "$3" >"$scratch/expected"
    held "$1" >"$scratch/held"
    cmp -s "$scratch/expected" "$scratch/held"
    tap_ok $? "$2 has what it should: $(wc -l <"$scratch/expected") keys"
    diff "$scratch/expected" "$scratch/held" | head -n 5 | sed 's/^/#   /'
}

ends 0 sweep "$file"
says out 'Nothing was deleted'
[ "$(held 2 | wc -l)" -eq 900 ]
tap_ok $? 'nothing is deleted without --delete'
kept b '!late && old != here' >"$scratch/kept"
lost=$(wc -l <"$scratch/kept")
awk -v lost="$lost" '$1 == "b" { exit !($2 == 900 && $3 == lost && $4 == 0) }' "$scratch/out"
tap_ok $? "but counted: $lost"
ends 2 sweep "$file" --delete
says err '--delete needs --hashed-by-key'
ends 2 sweep "$file" --delete --yes
on_terminal no sweep "$file" --delete
[ "$status" -eq 1 ] && [ "$(held 2 | wc -l)" -eq 900 ]
tap_ok $? 'nothing is deleted when the answer is no'
refuses 2 '--server "z"' sweep "$file" --server z
for rate in 0 x 5/min; do
    refuses 2 '--rate' sweep "$file" --rate "$rate"
done
ends 1 sweep "$file" --server a
says err 'on the old ring alone'

# In WARMING: ghosts, and what neither ring has there. The old owners' stays.
ends 0 sweep "$file" --delete --hashed-by-key --server c --rate 5000/s
check 3 c 'late || old == here'
check 2 b 1
ends 0 sweep "$file" --delete --hashed-by-key
check 2 b 'late || old == here'

# In SETTLING: what moved away goes, too.
age "$file"
"$tool" migrate commit "$file" --yes >"$scratch/out" 2>"$scratch/err"
age "$file"
"$tool" migrate finish "$file" --yes >"$scratch/out" 2>"$scratch/err"
in_phase "$file" SETTLING
kill_server 3
"$tool" sweep "$file" --delete --hashed-by-key >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ]
tap_ok $? 'a server is away'
says err "127.0.0.1:$(port_of 3)"
grep -q -e '--settled' "$scratch/out"
[ $? -ne 0 ]
tap_ok $? 'it is not done then'
check 2 b 'late || (old == here && new == here)'
restart_server 3
fill 3 <"$scratch/late"
ends 0 sweep "$file" --delete --hashed-by-key
says out 'migrate finish'
says out '--settled'
check 3 c 'late'
age "$file"
ends 0 migrate finish "$file" --settled --yes
in_phase "$file" STABLE
told 7

# In STABLE: all that is not where it belongs.
age "$file"
ends 0 sweep "$file" --delete --hashed-by-key --prefix key:1
check 2 b '(late || (old == here && new == here)) && ($1 !~ /^key:1/ || new == here)'
ends 0 sweep "$file" --delete --hashed-by-key
check 2 b 'new == here && (late || old == here)'
check 3 c 'new == here && late'
told 7

tap_done
