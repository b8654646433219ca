#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command as a whole: help, wrong use, bad server files, and output that
# cannot be written.

. "$(dirname "$0")/tool.sh"

# ---- help ----

ends 0 --help
for command in locate plan diff balance reweight migrate sweep stat; do
    says out "  $command "
done
ends 0 --version
says out "warmring $(sed -n 's/#define WARMRING_VERSION_STRING "\(.*\)"/\1/p' \
    "$source/include/warmring/common.h")"
for command in locate plan diff balance reweight sweep stat; do
    ends 0 "$command" --help
    says out "Usage: warmring $command"
    page=$source/docs/man/warmring-$command.1
    grep -oE '^  --[a-z-]+' "$scratch/out" | grep -v -e '--help' | sort >"$scratch/helped"
    sed 's/\\-/-/g' "$page" | grep -oE '^\.B[RI]* --[a-z-]+' | sed 's/^\.B[RI]* /  /' |
        grep -v -e '--help' | sort -u >"$scratch/paged"
    [ -s "$scratch/helped" ] && diff "$scratch/helped" "$scratch/paged" >"$scratch/difference"
    tap_ok $? "$command: the man page has the options of --help"
    sed 's/^/#   /' "$scratch/difference"
done
# One page for all of its commands.
: >"$scratch/all"
for command in begin warm commit finish rollback status announce; do
    ends 0 migrate "$command" --help
    says out "Usage: warmring migrate $command FILE"
    grep -oE '^  --[a-z-]+' "$scratch/out" >>"$scratch/all"
done
grep -v -e '--help' "$scratch/all" | sort -u >"$scratch/helped"
sed 's/\\-/-/g' "$source/docs/man/warmring-migrate.1" | grep -oE '^\.B[RI]* --[a-z-]+' |
    sed 's/^\.B[RI]* /  /' | grep -v -e '--help' | sort -u >"$scratch/paged"
[ -s "$scratch/helped" ] && diff "$scratch/helped" "$scratch/paged" >"$scratch/difference"
tap_ok $? 'migrate: the man page has the options of --help'
sed 's/^/#   /' "$scratch/difference"
if command -v man >/dev/null; then
    for page in "$source"/docs/man/*.[15]; do
        LC_ALL=C MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null |
            grep -v 'cannot set locale' >"$scratch/warnings"
        tap_empty "$scratch/warnings" "$(basename "$page") formats without a warning"
    done
else
    tap_skip 'no man'
fi

# ---- wrong use ----

equal_servers 3 >"$scratch/servers"
servers=$scratch/servers
refuses 2 'Usage: warmring COMMAND'
refuses 2 'unknown command "lokate"' lokate
refuses 2 'unknown option "--lokate"' --lokate
for command in locate plan balance; do
    refuses 2 '--servers FILE is missing' "$command"
    refuses 2 'unknown option "--severs"' "$command" --severs "$servers"
    says err "Try 'warmring $command --help'."
    refuses 2 'unknown option "--severs"' "$command" "--severs=$servers"
    refuses 2 'unexpected argument "extra"' "$command" --servers "$servers" extra
    refuses 2 'unexpected argument "-s"' "$command" -s "$servers"
    refuses 2 'option "--servers" needs a value, FILE' "$command" --servers
    refuses 2 'option "--servers" needs a value, FILE' "$command" --servers=
    refuses 2 'option "--servers" is given twice' "$command" --servers a --servers b
    for points in 0 -1 nan 1e3 0x10 1. .5 '' ' 5' 5x; do
        [ -z "$points" ] || refuses 2 "--points \"$points\"" "$command" --servers "$servers" \
            --points "$points"
    done
done
refuses 2 'option "--json" takes no value' balance --servers "$servers" --json=yes
for command in locate balance; do
    refuses 2 '--dialect "ketamine": not one of v2, ' "$command" --servers "$servers" \
        --dialect ketamine
    [ "$with_libmemcached" = 0 ] ||
        refuses 2 'unknown hash "sha1" of dialect twemproxy' "$command" --servers "$servers" \
            --dialect twemproxy --hash sha1
    refuses 2 'hash "md5": dialect v2 has its own' "$command" --servers "$servers" --hash md5
    refuses 2 '--max-points "4294967296"' "$command" --servers "$servers" --max-points 4294967296
    refuses 2 '--max-points "0": not a whole number from 1 to 4294967295' "$command" \
        --servers "$servers" --max-points 0
    refuses 2 '--max-points "1.5"' "$command" --servers "$servers" --max-points 1.5
    refuses 1 'points, at most 100: use points_per_weight' "$command" --servers "$servers" \
        --max-points 100
    refuses 1 'at most 16000000: use points_per_weight' "$command" --servers "$servers" \
        --points 6000000
done
for command in locate plan balance; do
    refuses 2 'points_per_weight 5000000000: not above 0 and at most 4294967295' "$command" \
        --servers "$servers" --points 5000000000
done
refuses 2 '--from FILE is missing' diff --to "$servers"
refuses 2 '--to FILE is missing' diff --from "$servers"
refuses 2 '--from-dialect "x"' diff --from "$servers" --to "$servers" --from-dialect x
refuses 2 '--to-dialect "x"' diff --from "$servers" --to "$servers" --to-dialect x
refuses 2 '--from-points "0"' diff --from "$servers" --to "$servers" --from-points 0
refuses 2 '--to-points "-2"' diff --from "$servers" --to "$servers" --to-points -2
refuses 2 'hash "md5": dialect v2' diff --from "$servers" --to "$servers" --from-hash md5
refuses 2 'hash "md5": dialect v2' diff --from "$servers" --to "$servers" --to-hash md5
refuses 2 'hash_tag "{"' locate --servers "$servers" --hash-tag '{'
refuses 2 '--flows "x"' diff --from "$servers" --to "$servers" --flows x
refuses 2 'cannot both be standard input' diff --from - --to -
for target in 5 1 0% -5% % 5%% five 0 nan% inf; do
    refuses 2 "--target \"$target\"" plan --servers "$servers" --target "$target"
done
refuses 2 'did you mean "5%"?' plan --servers "$servers" --target 5

# ---- server files ----

# bad LINE PIECE TEXT: a file whose third line is at fault, or line LINE.
bad() {
    printf "$3" >"$scratch/bad.txt"
    (
        cd "$scratch" || exit
        "$tool" balance --servers bad.txt >out 2>err
        echo $? >status
    )
    [ "$(cat "$scratch/status")" -eq 1 ] && [ ! -s "$scratch/out" ]
    tap_ok $? "refused: $3"
    says err "bad.txt:$1: "
    says err "$2"
}
bad 3 'port "70000" in "h2:70000": not a number from 1 to 65535' '# servers\nh1:1\nh2:70000\nh3:3\n'
bad 3 'weight "-1" in "h2:2:-1"' 'h1:1\r\n\nh2:2:-1\r\n'
bad 2 'weight "1e5"' 'h1\nh2:1:1e5\n'
bad 1 'address "[::1": the bracket is not closed' '[::1\n'
bad 2 'text "h2,h3": more than one server' 'h1\nh2,h3\n'
bad 2 'name "a+b"' 'h1\na+b=h2\n'
bad 1 'a byte 0 behind "h1"' 'h1\0x\n'
bad 5 'name "n" is used twice: by line 2 and line 5' '#\nn=h1\nm=h2\n\nn=h3'
bad 3 'endpoint "h1:11211" is used twice: by line 1 and line 3' 'h1\nh2\nx=h1:11211\n'

# wrong TEXT FILE-CONTENT [OPTION...]: as a whole, whatever the line.
wrong() {
    text=$1
    printf "$2" >"$scratch/bad.txt"
    shift 2
    refuses 1 "$scratch/bad.txt$text" balance --servers "$scratch/bad.txt" "$@"
}
wrong ': no server in it' ''
wrong ': no server in it' '# none\n\n'
wrong ': none of 2 servers has a weight above 0' 'h1:1:0\nh2:1:0\n'
wrong ':3: "h2:2": weight 1.5: dialect nginx knows whole numbers' 'h1:1:2\n\nh2:2:1.5\n' --dialect nginx
refuses 1 "$scratch/none: No such file or directory" plan --servers "$scratch/none"
refuses 1 "$scratch: cannot read: Is a directory" plan --servers "$scratch"

printf 'h1\nh2:0\n' | warmring balance --servers - >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ]
tap_ok $? 'servers from standard input are refused, too'
says err 'standard input:2: port "0"'
# A writer that has more to say is not waited for when a line is bad already.
mkfifo "$scratch/fifo"
"$tool" balance --servers "$scratch/fifo" >/dev/null 2>"$scratch/err" &
reader=$!
(
    exec 3>"$scratch/fifo"
    echo 'h1:70000' >&3
    tries=200
    while kill -0 "$reader" 2>/dev/null && [ "$tries" -gt 0 ]; do
        sleep 0.05
        tries=$((tries - 1))
    done
    [ "$tries" -gt 0 ]
    echo $? >"$scratch/status"
) &
wait "$reader"
wait
[ "$(cat "$scratch/status")" -eq 0 ]
tap_ok $? 'a bad line ends the reading at once'
says err 'port "70000"'

# A list is never cut short.
if [ -r /proc/self/status ] && (ulimit -v 400000 && warmring --version) >/dev/null 2>&1; then
    {
        echo h1
        head -c 150000000 /dev/zero | tr '\0' '#'
        printf '\nh2\n'
    } | (ulimit -v 100000 && warmring balance --servers -) >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 1 ] && [ ! -s "$scratch/out" ]
    tap_ok $? 'a line that does not fit in memory is an error'
    says err 'standard input: cannot read: Cannot allocate memory'
    awk 'BEGIN { for (i = 0; i < 50000; i++) print "h" i }' >"$scratch/many"
    for limit in 30000 34000 38000 42000 46000 50000 54000 58000; do
        (
            ulimit -v "$limit"
            "$tool" balance --servers "$scratch/many" --points 1 --json
        ) >"$scratch/out" 2>"$scratch/err"
        case $? in
        0) [ "$(grep -c '"server":' "$scratch/out")" -eq 50000 ] ;;
        *) [ ! -s "$scratch/out" ] && grep -q 'out of memory' "$scratch/err" ;;
        esac
        tap_ok $? "$limit KiB of memory: all of the list or an error"
    done
else
    tap_skip 'memory cannot be limited here (sanitizers)'
fi

printf '\357\273\277h1:1\r\nh2\r\n' >"$scratch/marked"
printf 'h1:1\nh2' >"$scratch/plain"
ends 0 balance --servers "$scratch/plain"
cp "$scratch/out" "$scratch/text"
ends 0 balance --servers "$scratch/marked"
cmp -s "$scratch/out" "$scratch/text"
tap_ok $? 'a byte order mark is not part of the first server'

# What is no text in JSON.
printf '[::1]:1\nunix:/s\351\n' >"$scratch/latin"
refuses 1 'is not UTF-8' balance --servers "$scratch/latin" --json
refuses 1 'is not UTF-8' diff --from "$servers" --to "$scratch/latin" --json
[ "$(wc -l <"$scratch/err")" -eq 1 ]
tap_ok $? 'told once'

equal_servers 4 | warmring balance --servers - >"$scratch/out" && warmring balance \
    --servers - --json <"$servers" >"$scratch/out"
tap_ok $? 'servers come from standard input'
json 'len(it["servers"]) == 3' 'all of them'

# ---- output that is lost ----

seq 1000 >"$scratch/keys"
if [ -w /dev/full ] && ! (echo x >/dev/full) 2>/dev/null; then
    for command in 'locate' 'plan' 'plan --json' 'balance' 'balance --json'; do
        warmring $command --servers "$servers" <"$scratch/keys" >/dev/full 2>"$scratch/err"
        [ $? -eq 1 ]
        tap_ok $? "$command: a full disk is an error"
        says err 'cannot write standard output'
        [ "$(wc -l <"$scratch/err")" -eq 1 ]
        tap_ok $? '  told once'
    done
    warmring --help >/dev/full 2>/dev/null
    [ $? -eq 1 ]
    tap_ok $? 'also for --help'
else
    tap_skip 'no /dev/full'
fi
(
    seq 300000 | warmring locate --servers "$servers" 2>"$scratch/err"
    echo $? >"$scratch/status"
) | head -n 1 >"$scratch/first"
[ "$(cat "$scratch/status")" -eq 1 ] && [ "$(wc -l <"$scratch/first")" -eq 1 ]
tap_ok $? 'a reader that goes away is an error and no crash'
says err 'cannot write standard output: Broken pipe'

tap_done
