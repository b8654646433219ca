#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts memcached servers on free loopback ports, runs a program against
# them, and ends them again.
#
#   run.sh check PROGRAM SOURCE.c     runs an example and compares what it
#                                     prints with the comment on top of it; on
#                                     stderr there may be lines "note: ..."
#   run.sh with SERVERS PROGRAM ARG...  runs PROGRAM ARG... OLD [NEW...]
#
# SERVERS says how many: "4" is one argument OLD that names four servers a to
# d, as in a=127.0.0.1:40001,b=127.0.0.1:40002,...; "4 + 2" adds an argument
# for each of two more, e and f; "4 unnamed" leaves the names out; "0" starts
# none and adds no argument. An example has it in a line "Servers: 4 + 2".
#
# MEMCACHED is the server program and its options (memcached).
set -u

usage() {
    sed -n '/^#   run/,/^# MEMCACHED/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# ---- what an example's comment says ----

# The number of servers.
wanted_servers() {
    sed -n 's/^ \* Servers: *//p' "$1" | head -n 1
}

# The lines between "Output:" and the end of the comment.
expected_output() {
    sed -n '/^ \* Output:$/,/^ \*\/$/p' "$1" | sed '1,2d;$d;s/^ \*$//;s/^ \*   //'
}

# ---- servers ----

pids=
program_pid=
directory=$(mktemp -d) || exit 1

end_all() {
    # shellcheck disable=SC2086 # several; servers have nothing to lose
    kill $program_pid 2>/dev/null
    kill -KILL $pids 2>/dev/null
    wait 2>/dev/null
    rm -rf "$directory"
}
trap end_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

give_up() {
    echo "run.sh: $*" >&2
    exit 1
}

# start_server NUMBER: as root it runs as nobody, who must be able to write
# the file with the port.
start_server() {
    set -- "$1" "${MEMCACHED:-memcached}" -p -1 -U 0 -l 127.0.0.1 -m 64 -t 2
    if [ "$(id -u)" -eq 0 ]; then
        set -- "$@" -u nobody
        chmod 777 "$directory"
    fi
    number=$1
    shift
    MEMCACHED_PORT_FILENAME=$directory/port.$number "$@" \
        >"$directory/log.$number" 2>&1 </dev/null &
    pids="$pids $!"
}

# wait_for_port NUMBER: prints it; memcached writes it once it listens.
wait_for_port() {
    tries=0
    until [ -s "$directory/port.$1" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 200 ]; then
            sed 's/^/  /' "$directory/log.$1" >&2
            return 1
        fi
        sleep 0.05
    done
    sed -n 's/^TCP INET: *//p' "$directory/port.$1" | head -n 1
}

# start_servers COUNT NAMED: one server string a line.
start_servers() {
    first=${MEMCACHED:-memcached}
    command -v "${first%% *}" >/dev/null ||
        give_up "${first%% *} is missing; on Debian: apt-get install memcached"
    number=0
    while [ "$number" -lt "$1" ]; do
        number=$((number + 1))
        start_server "$number"
    done
    number=0
    for name in $(echo a b c d e f g h i j k l m n o p | cut -d ' ' -f "1-$1"); do
        number=$((number + 1))
        port=$(wait_for_port "$number") || give_up "memcached does not start"
        if $2; then
            echo "$name=127.0.0.1:$port"
        else
            echo "127.0.0.1:$port"
        fi >>"$directory/servers"
    done
}

# ---- running ----

# run SERVERS PROGRAM ARG...: its output goes to stdout.
run() {
    old=${1%%[!0-9]*}
    more=0
    named=true
    case $1 in
    *+*)
        more=${1#*+ }
        more=${more%% *}
        ;;
    *unnamed) named=false ;;
    esac
    case $old:$more in
    :* | *: | *:*[!0-9]*) give_up "cannot read the number of servers: \"$1\"" ;;
    esac
    shift
    if [ "$old" -gt 0 ]; then
        start_servers $((old + more)) "$named"
        set -- "$@" "$(head -n "$old" "$directory/servers" | paste -sd , -)"
        for server in $(tail -n "+$((old + 1))" "$directory/servers"); do
            set -- "$@" "$server"
        done
    fi
    # In the background, so that a signal to this script ends it as well.
    "$@" </dev/null &
    program_pid=$!
    wait "$program_pid"
    status=$?
    program_pid=
    return "$status"
}

check() {
    expected_output "$2" >"$directory/expected"
    [ -s "$directory/expected" ] || give_up "$2 has no expected output in its comment"
    run "$(wanted_servers "$2")" "$1" >"$directory/printed" 2>"$directory/said"
    status=$?
    grep -v '^note: ' "$directory/said" >"$directory/errors"
    if diff "$directory/expected" "$directory/printed" >"$directory/difference" &&
        [ "$status" -eq 0 ] && [ ! -s "$directory/errors" ]; then
        return 0
    fi
    echo "$1: status $status; expected (<) and printed (>):"
    sed 's/^/  /' "$directory/difference" "$directory/errors"
    return 1
}

case ${1:-} in
check)
    [ $# -eq 3 ] || usage
    check "$2" "$3"
    ;;
with)
    [ $# -ge 3 ] || usage
    shift
    run "$@"
    ;;
*) usage ;;
esac
