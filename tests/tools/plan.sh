#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warmring plan: the table, the recommendation and its reason, warnings, JSON
# and the picture.

. "$(dirname "$0")/tool.sh"

# aligned WHAT: a check of the table in the last output.
aligned() {
    [ "$(awk '/points per/ { on = 1 } on && /^$/ { exit } on && NF > 5 { print length($0) }' \
        "$scratch/out" | sort -u | wc -l)" -eq 1 ]
    tap_ok $? "$1: the columns are aligned"
}

equal_servers 100 >"$scratch/100"

ends 0 plan --servers "$scratch/100" --target 5% --json
json 'it["recommendation"]["points_per_weight"] == 396' '100 equal servers, 5 %: 396'
json 'it["points_per_weight"] == 396 and it["points"] == 39600' 'the keys stand on top, too'
json 'it["target"] == 0.05 and it["servers"] == 100 and it["weight"] == 100' 'what was asked'
json 'all(set(row) == {"points_per_weight", "points", "cv_theory", "cv_measured",
    "max_over_mean", "bytes", "build_ms", "collisions"} for row in it["candidates"])' 'keys of a row'
json 'all(abs(row["cv_theory"] - math.sqrt(99 / (100 * row["points_per_weight"] + 1))) < 1e-12
    for row in it["candidates"])' 'CV by theory is the formula'
json '[row["points"] for row in it["candidates"]] ==
    sorted(100 * row["points_per_weight"] for row in it["candidates"])' 'points, fewest first'
json 'len(it["candidates"]) >= 8 and 396 in [row["points_per_weight"] for row in it["candidates"]]' \
    'the recommendation is a candidate'
# 100 servers tell a CV with a standard error of 7 %; five of them.
json 'all(abs(row["cv_measured"] / row["cv_theory"] - 1) < 0.36 for row in it["candidates"])' \
    'CV measured is about that'
json 'all(1 < row["max_over_mean"] < 1 + 5 * row["cv_theory"] for row in it["candidates"])' 'max/mean'
json 'all(2 * row["points"] < row["bytes"] < 16 * row["points"] + 20000
    for row in it["candidates"])' 'bytes'
json 'all(row["build_ms"] > 0 for row in it["candidates"])' 'build time'
json '"meets the target of 5 %" in it["recommendation"]["reason"]' 'the reason'
json 'any("100 of 100 servers have no name" in text for text in it["warnings"])' \
    'unnamed servers are warned of'

# What is printed for people is the same.
ends 0 plan --servers "$scratch/100" --target 0.05
grep -qE '^-> +396 +39600 +5\.000 % +[0-9.]+ % +1\.[0-9]+ +[0-9.]+ KiB +[0-9.]+$' "$scratch/out"
tap_ok $? 'the recommended row is marked'
says out 'Recommended: 396 points per weight: the smallest whose CV by theory, 5.000 %, meets the target of 5 %.'
says out 'Next: set points_per_weight to 396'
says out 'Warning: 100 of 100 servers have no name'
aligned '100 servers'

# Other targets; --points.
ends 0 plan --servers "$scratch/100" --json
json 'it["points_per_weight"] == 396 and "--target" in it["recommendation"]["reason"]' \
    'no target: 5 %, and it says so'
ends 0 plan --servers "$scratch/100" --target 7.9% --json
json 'it["points_per_weight"] == min(k for k in range(1, 1000)
    if math.sqrt(99 / (100 * k + 1)) <= 0.079)' '7.9 %'
ends 0 plan --servers "$scratch/100" --points 160 --json
json 'it["points_per_weight"] == 160 and abs(it["cv_theory"] - 0.079) < 0.0005' \
    '--points alone is answered for itself: 160 have 7.9 %'
json '"--points" in it["recommendation"]["reason"] and
    "5 % would take 396" in it["recommendation"]["reason"]' 'and what 5 % would take'
ends 0 plan --servers "$scratch/100" --points 16 --target 5% --json
json 'it["points_per_weight"] == 396' '--target and --points: the target rules'
json 'any(row["points_per_weight"] == 16 and abs(row["cv_theory"] - 0.249) < 0.0005
    for row in it["candidates"])' 'and 16 points, 24.9 %, are looked at'

# Weights, names, drained servers.
cat >"$scratch/weighted" <<'END'
a=10.0.0.1:11211:1
b=10.0.0.2:11211:2.5
c=10.0.0.3:11211:0
d=unix:/run/m.sock:4
e=[::1]:11211:0.5
END
ends 0 plan --servers "$scratch/weighted" --target 4% --json
json 'it["warnings"] == [] and it["servers"] == 5 and it["weight"] == 8' 'named servers: no warning'
cat >"$scratch/theory.py" <<'END'
def cv(weights, density):
    points = [max(1, math.floor(w * density + 0.5)) for w in weights]
    K, W = sum(points), sum(weights)
    return math.sqrt(sum((k / K * W / w - 1) ** 2 + (k / K * W / w) ** 2 * (K - k) / (k * (K + 1))
                         for k, w in zip(points, weights)) / len(weights))
END
json "exec(open('$scratch/theory.py').read(), globals()) or it['points_per_weight'] ==
    next(p for p in range(1, 100000) if cv([1, 2.5, 4, 0.5], p) <= 0.04)" \
    'the first of all numbers that meets the target'

# Weights of megabytes do not need a point for each of them.
printf 'a=h1:1:65536\nb=h2:1:131072\nc=h3:1:65536\n' >"$scratch/megabytes"
ends 0 plan --servers "$scratch/megabytes" --json
json 'it["points_per_weight"] < 0.01 and it["points"] < 2000 and it["cv_theory"] <= 0.05' \
    'weights of megabytes: a fraction'
json 'it["candidates"][0]["points"] < 300' 'and candidates to match'

# Of bytes: what is recommended can be typed.
printf 'a=h1:1:64000000000\nb=h2:1:32000000000\n' >"$scratch/bytes"
ends 0 plan --servers "$scratch/bytes"
aligned 'weights of bytes'
density=$(sed -n 's/^Recommended: \([^ ]*\) .*/\1/p' "$scratch/out")
for command in plan balance; do
    ends 0 "$command" --servers "$scratch/bytes" --points "$density" --json
    json 'it["cv_theory"] <= 0.05 and it["points"] < 2000' "$command takes the recommended $density"
done

# Of any size.
printf 'a=h1:1:0.000000001\nb=h2:1:0.000000002\n' >"$scratch/nano"
ends 1 plan --servers "$scratch/nano" --json
says err 'points_per_weight of about 166333333334, which is over 4294967295: use larger weights'
json 'it["recommendation"] is None and [row["points_per_weight"] for row in it["candidates"]] ==
    [4294967295]' 'tiny weights: the most points that there are'
zeros=$(printf '%0300d' 0)
printf "a=h1:1:1$zeros\nb=h2:1:1$zeros\n" >"$scratch/huge"
ends 0 plan --servers "$scratch/huge" --json
json 'it["points"] == 400 and len(set(row["points"] for row in it["candidates"])) ==
    len(it["candidates"])' 'huge weights: the same, no density twice'
printf "a=h1:1:1$zeros\nb=h2:1:0.${zeros}1\n" >"$scratch/apart"
refuses 1 "$scratch/apart:2: weight 1e-301 of line 2: too small beside a sum of 1e+300" \
    plan --servers "$scratch/apart" --json
printf "a=h1:1:1\nb=h2:1:0.${zeros}1\n" >"$scratch/apart"
ends 0 balance --servers "$scratch/apart" --json
json 'it["cv_measured"] is None and it["servers"][0]["server"] == "b" and
    it["servers"][0]["share_over_wanted"] > 1e290' 'what is no number is null'
printf "a=h1:1:1$zeros\nb=h2:1:0.${zeros}1\n" >"$scratch/apart"
ends 0 balance --servers "$scratch/apart" --points "0.${zeros}1"
! grep -q drained "$scratch/out"
tap_ok $? 'a tiny weight is not drained'
echo one=h1 >"$scratch/one"
ends 0 plan --servers "$scratch/one" --json
json 'it["points_per_weight"] == 1 and it["cv_theory"] == 0 and it["cv_measured"] == 0' 'one server'

# Beyond 32 bits, and near it.
ends 1 plan --servers "$scratch/100" --target 0.001% --json
json 'it["recommendation"] is None and "points" not in it' 'a target beyond 32 bits: none'
json 'any("no ring meets the target" in text and "4294967296" in text for text in it["warnings"])' \
    'and a warning'
says err 'no ring meets the target'
ends 0 plan --servers "$scratch/100" --target 0.1% --json
json 'it["points_per_weight"] == 990000 and it["cv_measured"] is None and it["bytes"] is None' \
    '99 million points: not built unasked'
json 'any("raise max_points" in text for text in it["warnings"])' 'clients have to raise a limit'
json 'any("1.14" in text and "measured CV" in text for text in it["warnings"])' \
    'collisions are warned of'
ends 0 plan --servers "$scratch/weighted" --points 300000 --json
json 'it["collisions"] > 0 and it["cv_measured"] is not None' 'collisions are counted'

# ---- the picture ----

ends 0 plan --servers "$scratch/100" --svg "$scratch/plan.svg"
for piece in 'recommended: 396' 'CV 5.000 %' 'target 5 %' 'points per weight' 'memory' \
    'ring of 100 servers'; do
    cp "$scratch/plan.svg" "$scratch/out"
    says out "$piece"
done
if command -v python3 >/dev/null; then
    python3 - "$scratch/plan.svg" >"$scratch/python" 2>&1 <<'END'
import sys, xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
name = "{http://www.w3.org/2000/svg}"
dots = root.findall(name + "circle")
squares = [r for r in root.findall(name + "rect") if r.get("width") == "7"]
assert len(dots) == len(squares) >= 8, (len(dots), len(squares))
xs = [float(d.get("cx")) for d in dots]
ys = [float(d.get("cy")) for d in dots]
assert xs == sorted(xs) and ys == sorted(ys), "CV falls from left to right"
heights = [float(s.get("y")) for s in squares]
assert heights == sorted(heights, reverse=True), "memory rises"
for e in root.iter():
    for key in ("x", "x1", "x2", "cx"):
        assert e.get(key) is None or 0 <= float(e.get(key)) <= 800, (e.tag, e.attrib)
    for key in ("y", "y1", "y2", "cy"):
        assert e.get(key) is None or 0 <= float(e.get(key)) <= 480, (e.tag, e.attrib)
END
    tap_ok $? 'the picture is XML, its curves run as they should, within the frame'
    sed 's/^/#   /' "$scratch/python"
else
    tap_skip 'no python3: the picture'
fi
for servers in weighted megabytes bytes one; do
    ends 0 plan --servers "$scratch/$servers" --svg "$scratch/plan.svg"
    ! grep -qE 'nan|inf' "$scratch/plan.svg"
    tap_ok $? "$servers: all numbers of the picture are numbers"
done
ends 1 plan --servers "$scratch/100" --svg "$scratch/none/plan.svg"
says err "--svg $scratch/none/plan.svg: No such file or directory"

tap_done
