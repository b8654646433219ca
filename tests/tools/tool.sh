# SPDX-License-Identifier: Apache-2.0
# For tests of the command; sourced. `warmring` runs it.

. "$(dirname "$0")/../lib/tap.sh"

tool=$build/tools/warmring
if [ -x "$build/tools/.libs/warmring" ]; then # what libtool's wrapper would run
    tool=$build/tools/.libs/warmring
    LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
[ -x "$tool" ] || tap_bail "no $tool"

warmring() {
    "$tool" "$@"
}

# ends STATUS ARGUMENT...: runs the command with its output in $scratch/out
# and $scratch/err; a check that held if it ended with STATUS and said why on
# standard error, or, with 0, said nothing there.
ends() {
    expected=$1
    shift
    got=0
    "$tool" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
    [ "$got" -eq "$expected" ] && { [ "$expected" -ne 0 ] || [ ! -s "$scratch/err" ]; } &&
        { [ "$expected" -eq 0 ] || [ -s "$scratch/err" ]; }
    ended=$?
    tap_ok $ended "warmring $*: ends with $expected"
    [ $ended -eq 0 ] || { echo "#   got $got" && sed 's/^/#   /' "$scratch/err"; }
}

# says FILE TEXT: a check that FILE of the last run contains TEXT.
says() {
    grep -qF -- "$2" "$scratch/$1"
    said=$?
    tap_ok $said "  std$1: $2"
    [ $said -eq 0 ] || sed 's/^/#   /' "$scratch/$1"
}

# refuses STATUS TEXT ARGUMENT...: ends with STATUS, says TEXT, prints nothing.
refuses() {
    status=$1 text=$2
    shift 2
    ends "$status" "$@"
    says err "$text"
    [ ! -s "$scratch/out" ]
    tap_ok $? "  and nothing else"
}

# json EXPRESSION DESCRIPTION: a check in Python of $scratch/out, read as `it`.
json() {
    if ! command -v python3 >/dev/null; then
        tap_skip "no python3: $2"
        return
    fi
    python3 - "$scratch/out" "$1" >"$scratch/python" 2>&1 <<'END'
import json, math, sys

def refuse(name):
    raise ValueError("not JSON: " + name)

with open(sys.argv[1]) as stream:
    it = json.load(stream, parse_constant=refuse)
if not eval("(" + sys.argv[2] + "\n)"):
    sys.exit("%s does not hold of %s" % (sys.argv[2], json.dumps(it)[:2000]))
END
    held=$?
    tap_ok $held "$2"
    [ $held -eq 0 ] || sed 's/^/#   /' "$scratch/python"
}

# equal_servers COUNT: unnamed ones of weight 1.
equal_servers() {
    awk -v count="$1" 'BEGIN {
        for (i = 0; i < count; i++) print "10.7." int(i / 200) "." i % 200 ":11211"
    }'
}
