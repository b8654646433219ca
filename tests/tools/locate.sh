#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring locate against owners from elsewhere, and with odd keys.

. "$(dirname "$0")/tool.sh"

# ---- the vectors ----

# What a line "# server INDEX [NAME=]ADDRESS weight W" is as a server string,
# and the label that the command has to print for it.
servers_of() {
    awk '/^# server / {
        address = $4
        if (address ~ /^([^=]*=)?unix:/ || address ~ /\]?:[0-9]+$/ && address !~ /\[[^]]*$/) {
            print address ":" $6
        } else if (address ~ /=/) { # its identity is the name alone
            print address ":11211:" $6
        } else {
            print ($6 == 1) ? address : "--SERVER=" address "/?" $6
        }
    }' "$1"
}

labels_of() {
    awk '/^# server / {
        label = $4
        if (label ~ /=/) sub(/=.*/, "", label)
        else if (label !~ /^unix:/ && label !~ /^(\[.*\]|[^:[]*):[0-9]+$/) label = label ":11211"
        print label
    }' "$1"
}

# Keys and owners, as the command prints them.
expected_of() {
    labels_of "$1" >"$scratch/labels"
    awk 'FNR == NR { label[FNR - 1] = $0; next }
        /^#/ { next }
        { owner = $0; sub(/.*,/, "", owner); sub(/,[0-9]+$/, ""); print $0 "\t" label[owner] }' \
        "$scratch/labels" "$1"
}

# How the ring of a file is made, as options of the command.
options_of() {
    case $1 in
    libmemcached-ketama.*) echo '--dialect libmemcached' ;;
    pingora-v2-mult*) echo "$1" | sed 's/^\(pingora-v2\)-mult\([0-9]*\)\..*/--dialect \1 --points \2/' ;;
    twemproxy-*) echo "$1" | sed 's/^twemproxy-\([^.]*\)\..*/--dialect twemproxy --hash \1/' ;;
    *) echo "--dialect ${1%%.*}" ;;
    esac
    sed -n 's/^# points_per_weight /--points /p' "$2"
}

tested=0
for file in "$source"/tests/data/*.csv; do
    name=$(basename "$file" .csv)
    case $with_libmemcached$name in
    0libmemcached* | 0modula* | 0twemproxy*) continue ;; # not in such a build
    esac
    if grep -q '^#.*alias names' "$file"; then # hosts that are names
        sed -E '/^# server /s/ ([a-z0-9]+):([0-9]+) / \1=127.0.0.1:\2 /' "$file" >"$scratch/file"
    else
        cp "$file" "$scratch/file"
    fi
    servers_of "$scratch/file" >"$scratch/servers"
    expected_of "$scratch/file" >"$scratch/expected"
    cut -f 1 "$scratch/expected" >"$scratch/keys"
    warmring locate --servers "$scratch/servers" $(options_of "$name" "$file") <"$scratch/keys" \
        >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 0 ] && [ -s "$scratch/keys" ] && cmp -s "$scratch/expected" "$scratch/out"
    tap_ok $? "$name: $(wc -l <"$scratch/keys") keys have their owners"
    sed 's/^/#   /' "$scratch/err"
    tested=$((tested + 1))
done
least=56
[ "$with_libmemcached" = 1 ] || least=12
[ $tested -ge $least ]
tap_ok $? "$tested files"

# The defaults are v2 and 1,000 points.
equal_servers 9 >"$scratch/servers"
seq 2000 >"$scratch/keys"
warmring locate --servers "$scratch/servers" <"$scratch/keys" >"$scratch/out"
warmring locate --servers="$scratch/servers" --dialect=v2 --points=1000 <"$scratch/keys" |
    cmp -s - "$scratch/out"
tap_ok $? 'v2 with 1,000 points is the default'
sort -R "$scratch/servers" >"$scratch/shuffled"
warmring locate --servers "$scratch/shuffled" <"$scratch/keys" | cmp -s - "$scratch/out"
tap_ok $? 'the order of the list changes nothing'
warmring locate --servers "$scratch/servers" --points 0.3 --max-points 9 <"$scratch/keys" \
    >"$scratch/few"
[ "$(cut -f 2 "$scratch/few" | sort -u | wc -l)" -eq 9 ] && ! cmp -s "$scratch/few" "$scratch/out"
tap_ok $? 'fewer points are another ring, of one point each at least'

# What is between the braces decides.
warmring locate --servers "$scratch/servers" --hash-tag '{}' >"$scratch/tagged" <<'END'
{user}
a{user}1
b{user}2
user
{}user
END
[ "$(head -n 4 "$scratch/tagged" | cut -f 2 | sort -u | wc -l)" -eq 1 ]
tap_ok $? 'a hash tag chooses the server'

# ---- labels ----

cat >"$scratch/labelled" <<'END'
# each has a name of its own
named=10.0.0.1:5:3
10.0.0.2
[fd00::2]:77   # a comment
unix:/run/m.sock
drained=10.0.0.9:11211:0

--SERVER=10.0.0.3:11222/?2
END
printf '%s\n' '10.0.0.2:11211' '10.0.0.3:11222' '[fd00::2]:77' named 'unix:/run/m.sock' |
    LC_ALL=C sort >"$scratch/expected"
warmring locate --servers "$scratch/labelled" <"$scratch/keys" | cut -f 2 | LC_ALL=C sort -u |
    diff "$scratch/expected" - >"$scratch/difference"
tap_empty "$scratch/difference" 'servers are called by name, or by host:port where they have none'

# ---- keys ----

# owners TEXT: what it prints for the keys in TEXT, a format of printf.
owners() {
    printf "$1" | warmring locate --servers "$scratch/servers"
}
[ -z "$(owners '')" ]
tap_ok $? 'no keys, no output'
[ "$(owners 'a')" = "$(owners 'a\n')" ] && [ "$(owners 'a' | wc -l)" -eq 1 ]
tap_ok $? 'a last line without its end is a key'
owners '\n\n' | grep -c '^	10' >"$scratch/empty"
[ "$(cat "$scratch/empty")" -eq 2 ]
tap_ok $? 'empty lines are empty keys'
owners 'a b\tc\r\n' | grep -q "^$(printf 'a b\tc\r\t')10"
tap_ok $? 'blanks, tabs and carriage returns belong to the key'
owners 'x\0y\n' | od -c | head -n 1 | grep -q 'x  *\\0  *y  *\\t'
tap_ok $? 'so does a byte 0'

# Keys around the size of the buffer, and far above it.
awk 'BEGIN {
    for (length_ = 262140; length_ <= 262148; length_++) lengths[++n] = length_
    lengths[++n] = 3; lengths[++n] = 1; lengths[++n] = 3000000; lengths[++n] = 2; lengths[++n] = 524288
    for (key = "key"; length(key) < 3000000; key = key key) {}
    for (i = 1; i <= n; i++) print substr(key, 1, lengths[i])
}' >"$scratch/long"
warmring locate --servers "$scratch/servers" <"$scratch/long" >"$scratch/out"
cut -f 1 "$scratch/out" | cmp -s - "$scratch/long"
tap_ok $? 'long keys come back whole'
while IFS= read -r key; do
    printf '%s\n' "$key" | warmring locate --servers "$scratch/servers"
done <"$scratch/long" | cmp -s - "$scratch/out"
tap_ok $? 'and have the owner they have alone'

# ---- one key at a time ----

mkfifo "$scratch/ask" "$scratch/tell"
warmring locate --servers "$scratch/servers" <"$scratch/ask" >"$scratch/tell" &
asked=$!
exec 3>"$scratch/ask" 4<"$scratch/tell"
for key in one two three; do
    echo $key >&3
    IFS= read -r answer <&4
    [ "$answer" = "$(echo $key | warmring locate --servers "$scratch/servers")" ]
    tap_ok $? "an answer before the next question: $key"
done
exec 3>&-
wait $asked
tap_ok $? 'and the end of the questions is the end'
exec 4<&-

# ---- many keys ----

# As much memory for a million keys as for one: the limit is what it takes,
# measured, and a megabyte.
if [ -r /proc/self/status ] && (ulimit -v 400000 && warmring --version) >/dev/null 2>&1; then
    seq 1000000 >"$scratch/million"
    (ulimit -v 120000 && warmring locate --servers "$scratch/servers" <"$scratch/million") \
        >"$scratch/out"
    tap_ok $? 'a million keys in little memory'
    [ "$(wc -l <"$scratch/out")" -eq 1000000 ] && cut -f 1 "$scratch/out" | cmp -s - "$scratch/million"
    tap_ok $? 'all of them, in order'
    head -n 2000 "$scratch/out" >"$scratch/first"
    warmring locate --servers "$scratch/servers" <"$scratch/keys" | cmp -s - "$scratch/first"
    tap_ok $? 'with the owners they have among few'
else
    tap_skip 'memory cannot be limited here (sanitizers)'
fi

tap_done
