#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring balance against keys, and against arithmetic.

. "$(dirname "$0")/tool.sh"

{
    equal_servers 30
    echo 'large=10.8.0.1:11211:7'
    echo 'drained=10.8.0.2:11211:0'
} >"$scratch/servers"
seq 300000 >"$scratch/keys"

# check NAME OPTION...: the report on a ring against counts of its keys.
check() {
    what=$1
    shift
    ends 0 balance --servers "$scratch/servers" "$@" --json
    json 'abs(sum(s["share"] for s in it["servers"]) - 1) < 1e-9' "$what: shares add up to 1"
    json 'abs(sum(s["wanted"] for s in it["servers"]) - 1) < 1e-9 and all(
        abs(s["wanted"] - s["weight"] / 37) < 1e-12 for s in it["servers"])' "$what: weights"
    json 'all(abs(s["share_over_wanted"] - s["share"] / s["wanted"]) < 1e-9
        for s in it["servers"] if s["weight"] > 0)' "$what: their ratio"
    json 'it["servers"][:-1] == sorted(it["servers"][:-1], key=lambda s:
        -abs(s["share_over_wanted"] - 1))' "$what: worst first"
    json 'it["servers"][-1]["server"] == "drained" and it["servers"][-1]["share"] == 0 and
        it["servers"][-1]["share_over_wanted"] is None' "$what: drained last"
    json 'abs(it["cv_measured"] - math.sqrt(sum((s["share_over_wanted"] - 1) ** 2
        for s in it["servers"][:-1]) / 31)) < 1e-9 and abs(it["max_over_mean"] -
        max(s["share_over_wanted"] for s in it["servers"][:-1])) < 1e-9' "$what: CV and max/mean"
    warmring locate --servers "$scratch/servers" "$@" <"$scratch/keys" | cut -f 2 | sort |
        uniq -c >"$scratch/counts"
    json "all(abs(int(n) / 300000 - share) <= 5 * math.sqrt(share / 300000)
        for n, share in ((n, next(s['share'] for s in it['servers'] if s['server'] == name))
            for n, name in map(str.split, open('$scratch/counts')))) and
        len(list(open('$scratch/counts'))) == 31" "$what: as keys fall"
}
check v2
check '40 points' --points 40
check nginx --dialect nginx
if [ "$with_libmemcached" = 1 ]; then
    check libmemcached-weighted --dialect libmemcached-weighted
    check twemproxy --dialect twemproxy --hash murmur
    check modula --dialect modula
fi

ends 0 balance --servers "$scratch/servers" --json
cp "$scratch/out" "$scratch/json"
ends 0 balance --servers "$scratch/servers"
cp "$scratch/out" "$scratch/text"
[ "$(awk 'NF == 0 { exit } NR > 1 { n++ } END { print n }' "$scratch/text")" -eq 32 ]
tap_ok $? 'a line for each server'
[ "$(sed -n '2s/ .*//p' "$scratch/text")" = "$(sed -n 's/.*"server": "\(.*\)",/\1/p' \
    "$scratch/json" | head -n 1)" ]
tap_ok $? 'the worst one is the first in both'
[ "$(awk 'NF == 0 { exit } { print length($0) }' "$scratch/text" | sort -u | wc -l)" -eq 1 ]
tap_ok $? 'columns are aligned'
grep -qE '^drained +0 .*drained$' "$scratch/text"
tap_ok $? 'a drained server is told as one'
printf 'a=h1:1:1000000000\nb=h2' >"$scratch/uneven"
ends 0 balance --servers "$scratch/uneven" --points 0.001
says out '1.0e-07 %'
ends 0 balance --servers "$scratch/servers"
says out 'CV '
says out 'in theory'
says out 'Next: '

tap_done
