#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the model of the migration through spin.
#
#   sh spec/check.sh [short|long]    every check, as a table; short is the default
#   sh spec/check.sh list [long]     their names
#   sh spec/check.sh trace NAME      one check again, breadth first, and its
#                                    shortest counterexample in words
#
# JOBS (2) checks run at once. Exit status: 0 all as expected, 1 not, 2 cannot run.

set -u
here=$(cd "$(dirname "$0")" && pwd)
form=${1:-short}
tab=$(printf '\t')

CC=${CC:-gcc}
for tool in spin "${CC%% *}"; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "check.sh: $tool is not installed; the model needs spin (Debian: apt-get install spin) and a C compiler" >&2
        exit 2
    }
done

work=${WORK:-$(mktemp -d "${TMPDIR:-/tmp}/warmring-model.XXXXXX")} || exit 2
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
[ -n "${WORK:-}" ] || trap 'exit 2' HUP INT TERM
export WORK="$work" CC

# ---- what a check consists of ---------------------------------------------

# S P W H D C T N, the rows in the order of a migration.
letter() {
    case $1 in
    STABLE_OLD) echo S ;; PREPARED) echo P ;; WARMING) echo W ;; HANDOVER) echo H ;;
    DRAINING) echo D ;; CLOSING) echo C ;; SETTLING) echo T ;; STABLE_NEW) echo N ;;
    *) echo "check.sh: pairs.txt: unknown phase \"$1\"" >&2; exit 2 ;;
    esac
}

# The forward path up to a row.
until_row() { echo SPWHDCTN | sed "s/\($1\).*/\1/"; }

# Who takes part; two writers and two fillers unless it says otherwise.
class_words() {
    case $1 in
    sets) echo "sets" ;;                # set, delete
    all) echo "one_filler" ;;           # and append, add, gets, cas
    full) echo "" ;;                    # the same
    changes) echo "changes no_filler" ;; # the same without set and delete
    counter) echo "counter lossless" ;; # increments, no eviction, no restart
    esac
}

# ---- the list: name, expected, then "class path options" for each run -------

say() { # name expected run [run ...]
    name=$1 expected=$2
    shift 2
    for each; do echo "$name$tab$expected$tab$each"; done
}

pairs() {
    sed '/^#/d' "$here/pairs.txt" | while IFS="$tab" read -r a b verdict steps; do
        x=$(letter "$a") y=$(letter "$b")
        forth=$(until_row "$x")$y back=$(until_row "$y")$x
        [ "$2" = long ] || forth=$x$y back=$y$x
        if [ "$verdict" = allowed ]; then
            for class in $1; do
                case $steps in forward | both) say "$a-$b $class" holds "$class $forth" ;; esac
                case $steps in back | both) say "$b-$a $class" holds "$class $back" ;; esac
            done
        else
            say "$a|$b" fails "sets $x$y" "sets $y$x" "changes $x$y" "changes $y$x"
        fi
    done
}

paths() {
    for class in $1; do
        [ "$2$class" = longall ] || say "forward $class" holds "$class SPWHDCTN"
        say "rollback from CLOSING $class" holds "$class SPWHDCHPS"
        say "second attempt $class" holds "$class SPWHDHPSPWHDCTN"
        say "warm again, no STABLE $class" holds "$class SPWHDHPWHDCTN"
    done
}

wrong() {
    say "HANDOVER skipped, sets" holds "sets SPWDCTN"
    say "HANDOVER skipped, counter" fails "counter WD never_missing"
    say "HANDOVER skipped, cas" fails "changes WD"
    say "HANDOVER taken, counter" holds "counter SPWHD never_missing"
    say "fill by plain add" fails "sets SPW plain_add"
    say "fill reads O before lease" fails "sets SPW late_lease"
    say "N touched before O" fails "sets SPW n_then_o"
    say "answered, O not deleted" fails "sets HD forget_o"
    say "no watermark" fails "sets SPWHDHPSPW no_watermark"
    say "finished unswept" fails "sets SPWHDCTN no_sweep"
    say "token on a new connection" fails "sets W no_token_rule one_writer"
    say "N's delete again, HANDOVER" fails "counter WHD never_missing retries"
    say "append on O over a lease" fails "changes S leases_on_o"
    say "append not bound to a CAS" fails "all D unbound"
}

checks() {
    case $1 in
    long) pairs "sets counter all" long && paths "sets counter all" long && wrong ;;
    *) pairs sets short && paths "sets counter" short && wrong ;;
    esac
}

# ---- running ----------------------------------------------------------------

# One program does every run: the path and the options come in MODEL.
build() { # cc's flags for the search, spin's flags
    cd "$work" && cp "$here/migration.pml" . && spin -a $2 migration.pml >spin.log 2>&1 && [ -f pan.c ] &&
        $CC -w -O2 -DSAFETY -DMEMLIM=8000 $1 -o pan pan.c >>spin.log 2>&1 || {
        cat "$work/spin.log" >&2
        exit 2
    }
}

# Runs one line; leaves the output of the search in pan.log.
search_one() { # class path options...
    class=$1 path=$2
    shift 2
    MODEL="$path $(class_words "$class") $*"
    export MODEL
    "$work/pan" -m5000000 -w22 -E >pan.log 2>&1
}

in_words() {
    sed -e 's/phase#0/STABLE(old)/; s/phase#1/PREPARED/; s/phase#2/WARMING/; s/phase#3/HANDOVER/' \
        -e 's/phase#4/DRAINING/; s/phase#5/CLOSING/; s/phase#6/SETTLING/; s/phase#7/STABLE(new)/' \
        -e 's/value#0/nothing/; s/value#1/a stub/; s/value#2/TRACKED/; s/value#3/OTHER/; s/value#4/JUNK/' \
        -e 's/op#1/set/; s/op#2/delete/; s/server#0/O/; s/server#1/N/' -e '/^spin: trail ends/,$d'
}

# One check: every run of it until one fails. Writes its row.
check_one() { # number
    mkdir -p "$work/$1" && cd "$work/$1" || exit 2
    name=$(sed -n "$1p" "$work/names")
    expected=$(awk -F "$tab" -v n="$name" '$1 == n { print $2; exit }' "$work/list")
    began=$(date +%s.%N) states=0 result=holds
    awk -F "$tab" -v n="$name" '$1 == n { print $3 }' "$work/list" >runs
    while read -r run; do
        search_one $run || { result=broken; break; }
        more=$(awk '/states, stored/ { print $1; exit }' pan.log)
        states=$(awk -v a="$states" -v b="${more:-0}" 'BEGIN { printf "%d", a + b }')
        if grep -q 'errors: [1-9]' pan.log && grep -q 'assertion violated' pan.log; then
            result=fails
            break
        elif ! grep -q 'errors: 0' pan.log || grep -q -e 'too small' -e 'not completed' pan.log; then
            result=broken
            sed 's/^/# /' pan.log >&2
            break
        fi
    done <runs
    echo "$name$tab$expected$tab$result$tab$states$tab$began$tab$(date +%s.%N)" >"$work/$1.row"
    cd "$work" && rm -rf "$work/$1"
}

trace_one() { # name
    line=$(awk -F "$tab" -v n="$1" '$1 == n' "$work/list")
    [ -n "$line" ] || { echo "check.sh: no check is called \"$1\"; see: check.sh list" >&2; exit 2; }
    build -DBFS -DTRACE
    echo "$line" | cut -f 3 | while read -r run; do
        search_one $run || exit 2
        echo "# $run: $(grep -o 'errors: [0-9]*' pan.log), $(grep 'states, stored' pan.log)"
        [ -f migration.pml.trail ] || continue
        ./pan -r -n 2>&1 | in_words
        break
    done
}

case $form in
one) check_one "$2"; exit 0 ;;
list) checks "${2:-short}" | cut -f 1 | uniq; exit 0 ;;
trace) checks long >"$work/list"; trace_one "${2:-}"; exit 0 ;;
short | long) ;;
*) echo "usage: check.sh [short | long | list [long] | trace NAME]" >&2; exit 2 ;;
esac

checks "$form" >"$work/list" || exit 2
cut -f 1 "$work/list" | uniq >"$work/names"
count=$(wc -l <"$work/names")
build "" ""
seq 1 "$count" | xargs -n 1 -P "${JOBS:-2}" sh "$here/check.sh" one

for i in $(seq 1 "$count"); do
    cat "$work/$i.row" 2>/dev/null || echo "$(sed -n "${i}p" "$work/names")$tab?${tab}broken${tab}0${tab}0${tab}0"
done | awk -F "$tab" '
    BEGIN { printf "%-34s %-8s %-8s %10s %8s\n", "check", "expected", "result", "states", "seconds" }
    {
        ok = $2 == $3
        passed += ok
        printf "%-34s %-8s %-8s %10d %8.1f%s\n", $1, $2, $3, $4, $6 - $5, ok ? "" : "   <== not as expected"
    }
    END {
        printf "%d checks passed, %d failed\n", passed, NR - passed
        exit passed != NR
    }'
