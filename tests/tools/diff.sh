#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring diff against keys located on both rings, and against arithmetic.

. "$(dirname "$0")/tool.sh"

equal_servers 20 | sed 's/^10.7.0.3:11211$/&:4/' >"$scratch/from"
sed 's/^\(10.7.0.5:11211\)$/\1:3/; /^10.7.0.9:/d' "$scratch/from" >"$scratch/to"
echo 'new=10.9.9.9:5' >>"$scratch/to"
seq 200000 >"$scratch/keys"

# sampled FROM-OPTIONS... -- TO-OPTIONS...: "FROM<TAB>TO<TAB>KEYS" for each
# pair of different owners, as counted with keys.
sampled() {
    from=
    while [ "$1" != -- ]; do
        from="$from $1"
        shift
    done
    shift
    warmring locate $from <"$scratch/keys" | cut -f 2 >"$scratch/owners-from"
    warmring locate "$@" <"$scratch/keys" | cut -f 2 >"$scratch/owners-to"
    paste "$scratch/owners-from" "$scratch/owners-to" |
        awk -F '\t' '$1 != $2 { n[$0]++ } END { for (pair in n) print pair "\t" n[pair] }' \
            >"$scratch/sampled"
}

# A share p of n keys has a standard deviation of sqrt(p (1 - p) / n).
cat >"$scratch/sampled.py" <<'END'
keys = 200000
counts = {}
for line in open(sampled):
    a, b, n = line.rstrip("\n").split("\t")
    counts[a, b] = int(n) / keys

def near(p, q):
    return abs(p - q) <= 5 * math.sqrt(max(p, 1e-6) * (1 - p) / keys) + 1e-9
END
check_sample() {
    json "exec('sampled = \"$scratch/sampled\"\n' + open('$scratch/sampled.py').read(), globals()) or
        near(it['moved'], sum(counts.values()))" "$1: as many keys move"
    json "exec('sampled = \"$scratch/sampled\"\n' + open('$scratch/sampled.py').read(), globals()) or
        all(near(f['share'], counts.get((f['from'], f['to']), 0)) for f in it['flows'])" \
        "$1: from and to where it says"
    json "abs(sum(f['share'] for f in it['flows']) - it['moved']) < 1e-9 and
        [f['share'] for f in it['flows']] == sorted((f['share'] for f in it['flows']), reverse=True)" \
        "$1: all flows are what moves, largest first"
}

ends 0 diff --from "$scratch/from" --to "$scratch/to" --flows 1000 --json
sampled --servers "$scratch/from" -- --servers "$scratch/to"
check_sample 'weights'
json 'it["from"]["servers"] == 20 and it["to"] == {"servers": 20, "dialect": "v2", "points":
    it["to"]["points"]} and 0 < it["least"] <= it["moved"]' 'the rings'
json 'all(abs(c["hit_ratio_after"] - c["hit_ratio_before"] * (1 - it["moved"])) < 1e-9 and
    abs(c["origin_load"] - (1 - c["hit_ratio_after"]) / (1 - c["hit_ratio_before"])) < 1e-6
    for c in it["cold_flip"]) and len(it["cold_flip"]) >= 2' 'what a cold flip costs'

ends 0 diff --from "$scratch/from" --to "$scratch/to" --from-dialect nginx --to-points 50.5 \
    --flows 1000 --json
sampled --servers "$scratch/from" --dialect nginx -- --servers "$scratch/to" --points 50.5
check_sample 'nginx to v2'
json 'it["from"]["dialect"] == "nginx"' 'by its name'

if [ "$with_libmemcached" = 1 ]; then
    ends 0 diff --from "$scratch/from" --to "$scratch/to" --from-points 33 --to-dialect \
        libmemcached-weighted --flows 1000 --json
    sampled --servers "$scratch/from" --points 33 -- --servers "$scratch/to" --dialect \
        libmemcached-weighted
    check_sample 'v2 to libmemcached-weighted'
fi

# Rings without points: all that counts is the place in the list.
if [ "$with_libmemcached" = 1 ]; then # which brings these dialects
    ends 0 diff --from "$scratch/from" --to "$scratch/to" --from-dialect modula --to-dialect modula \
        --flows 1000 --json
    sampled --servers "$scratch/from" --dialect modula -- --servers "$scratch/to" --dialect modula
    check_sample 'modula'
    equal_servers 12 >"$scratch/12"
    equal_servers 24 >"$scratch/24"
    ends 0 diff --from "$scratch/12" --to "$scratch/24" --from-dialect modula --to-dialect modula --json
    json 'abs(it["moved"] - 0.5) < 1e-8' 'modula, twice the servers: one half moves'
    json 'all(abs(f["share"] - 1 / 24) < 1e-8 for f in it["flows"])' 'from each to the one that is new'
    ends 0 diff --from "$scratch/from" --to "$scratch/to" --from-dialect modula --from-hash md5 \
        --to-dialect twemproxy --to-hash murmur --flows 1000 --json
    sampled --servers "$scratch/from" --dialect modula --hash md5 -- --servers "$scratch/to" \
        --dialect twemproxy --hash murmur
    check_sample 'modula to twemproxy'
    ends 0 diff --from "$scratch/from" --to "$scratch/to" --from-dialect modula --from-hash md5 \
        --to-dialect twemproxy --to-hash md5 --flows 1000 --json
    sampled --servers "$scratch/from" --dialect modula --hash md5 -- --servers "$scratch/to" \
        --dialect twemproxy --hash md5
    check_sample 'modula to twemproxy with the same hash'
fi

# For people.
ends 0 diff --from "$scratch/from" --to "$scratch/to"
cp "$scratch/out" "$scratch/text"
[ "$(sed -n '/^Largest flows/,/^$/p' "$scratch/text" | grep -c ' %$')" -eq 10 ]
tap_ok $? 'ten flows are shown'
ends 0 diff --from "$scratch/from" --to "$scratch/to" --json
json "'%.2f %%' % (100 * it['moved']) in open('$scratch/text').read() and
    len(it['flows']) == 10" 'both tell the same'
for text in 'least possible' 'A cold flip' 'load on the origin' 'Next: '; do
    cp "$scratch/text" "$scratch/out"
    says out "$text"
done
ends 0 diff --from "$scratch/from" --to "$scratch/to" --flows 0 --json
json 'it["flows"] == [] and it["moved"] > 0' 'no flows wanted'

# Nothing moves.
ends 0 diff --from "$scratch/from" --to "$scratch/from"
says out 'Nothing moves'
sort -R "$scratch/from" | sed 's/^\([^ ]*\)$/\1 # same/' >"$scratch/same"
warmring diff --from "$scratch/from" --to - --json <"$scratch/same" >"$scratch/out"
json 'it["moved"] == 0 and it["flows"] == [] and it["least"] == 0' 'another order moves nothing'

# Names and addresses.
printf 'a=h1\nb=h2\n' >"$scratch/named"
printf 'a=h1\nb=[::2]:3\n' >"$scratch/moved"
printf 'a=h1\nb=unix:/s\n' >"$scratch/socket"
ends 0 diff --from "$scratch/named" --to "$scratch/moved" --json
json '[(f["from"], f["to"]) for f in it["flows"]] == [("b (h2:11211)", "b ([::2]:3)")]' \
    'a new address under an old name is told by address'
ends 0 diff --from "$scratch/socket" --to "$scratch/named" --json
json '[(f["from"], f["to"]) for f in it["flows"]] == [("b (unix:/s)", "b (h2:11211)")]' \
    'sockets, too'

# Errors name the file at fault.
echo 'h:70000' >"$scratch/bad"
refuses 1 "$scratch/bad:1: port \"70000\"" diff --from "$scratch/from" --to "$scratch/bad"
refuses 1 "$scratch/bad:1: port \"70000\"" diff --from "$scratch/bad" --to "$scratch/from"
refuses 1 'use points_per_weight' diff --from "$scratch/from" --to "$scratch/to" --max-points 99

tap_done
