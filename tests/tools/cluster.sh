# SPDX-License-Identifier: Apache-2.0
# For tests of commands that talk to servers; sourced. Real memcacheds on
# loopback, numbered from 1 and named a, b, c, ...; ended by pid at the end.

. "$(dirname "$0")/tool.sh"

# skip_all REASON: in CI nothing may be missing.
skip_all() {
    [ -z "${CI:-}" ] || tap_bail "$1"
    echo "1..0 # SKIP $1"
    exit 0
}

memcached=${MEMCACHED:-memcached}
command -v "${memcached%% *}" >/dev/null || skip_all 'no memcached'
command -v python3 >/dev/null || skip_all 'no python3'

servers=0
trap 'end_servers; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
mkdir "$scratch/ports"
chmod 777 "$scratch/ports"

# launch NUMBER PORT OPTION...: port -1 takes a free one.
launch() {
    number=$1 port=$2
    shift 2
    [ "$(id -u)" -ne 0 ] || set -- "$@" -u nobody
    # shellcheck disable=SC2086 # the program and its options
    MEMCACHED_PORT_FILENAME=$scratch/ports/$number $memcached -p "$port" -U 0 -l 127.0.0.1 -m 64 -t 2 \
        "$@" >>"$scratch/log.$number" 2>&1 </dev/null &
    eval "pid_$number=$!"
    tries=0
    until [ -s "$scratch/ports/$number" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 200 ] || tap_bail "memcached does not start: $(cat "$scratch/log.$number")"
        sleep 0.05
    done
}

# start_server OPTION...: one more.
start_server() {
    servers=$((servers + 1))
    launch "$servers" -1 "$@"
    eval "port_$servers=$(sed -n 's/^TCP INET: *//p' "$scratch/ports/$servers" | head -n 1)"
}

port_of() {
    eval "echo \$port_$1"
}

# kill_server NUMBER, and restart_server NUMBER OPTION...: on its port.
kill_server() {
    eval "kill -KILL \$pid_$1; wait \$pid_$1" 2>/dev/null
    eval "pid_$1="
}
restart_server() {
    number=$1
    shift
    rm -f "$scratch/ports/$number"
    launch "$number" "$(port_of "$number")" "$@"
}

end_servers() {
    number=1
    while [ "$number" -le "$servers" ]; do
        eval "[ -z \"\$pid_$number\" ] || kill -KILL \$pid_$number" 2>/dev/null
        number=$((number + 1))
    done
    wait 2>/dev/null
}

# list NUMBER[:WEIGHT]...: server strings, one a line.
list() {
    for entry; do
        number=${entry%%:*} weight=1
        [ "$number" = "$entry" ] || weight=${entry#*:}
        echo "$(echo abcdefgh | cut -c "$number")=127.0.0.1:$(port_of "$number"):$weight"
    done
}

# localized FILE: what a document says, with the addresses of these servers, and with
# small settings where phases have to last for a time.
localized() {
    number=0
    while [ "$number" -lt "$servers" ]; do
        number=$((number + 1))
        echo "s/10\.0\.0\.$number:11211/127.0.0.1:$(port_of "$number")/"
    done >"$scratch/addresses"
    sed -e 's/--lag 5 --max-deadline 2000/--lag 1 --max-deadline 100/' -f "$scratch/addresses" "$1"
}

# topology FILE MAX_TTL NUMBER[:WEIGHT]...: writes a topology file with small
# settings: a phase has to last for 2.1 s.
topology() {
    file=$1 ttl=$2
    shift 2
    {
        printf '{"warmring": 1, "id": "00000000deadbeef", "epoch": 1, "steps": 0, '
        printf '"phase": "STABLE", "since": 1000, "lag_s": 1, "max_deadline_ms": 100, '
        printf '"max_ttl_s": %s, "ring": {"dialect": "v2", "points_per_weight": 1000, "servers": [' "$ttl"
        list "$@" | sed 's/^\(.*\)=\(.*\):\(.*\)$/{"name": "\1", "address": "\2", "weight": \3}/' |
            paste -sd , -
        printf ']}}\n'
    } >"$file"
    chmod 644 "$file"
}

# age FILE: as if its phase had begun long ago.
age() {
    sed -i 's/^\( *"since": \)[0-9]*/\11000/' "$1"
}

# field FILE NAME: a number or word on a line of its own in a topology file.
field() {
    sed -n "s/^  \"$2\": \"\{0,1\}\([A-Z0-9a-z]*\).*/\1/p" "$1"
}

# in_phase FILE PHASE
in_phase() {
    phase=$(field "$1" phase)
    [ "$phase" = "$2" ]
    tap_ok $? "  phase $phase"
}

# told STEPS: every server of the file has this count of steps.
told() {
    "$tool" stat "$file" --deadline 20000 --json >"$scratch/out" 2>"$scratch/err"
    json "all(s['steps'] == $1 for s in it['servers'])" "  all servers were told of step $1"
}

# ask NUMBER COMMAND: what a server answers to a command line.
ask() {
    python3 - "$(port_of "$1")" "$2" <<'END'
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.sendall(sys.argv[2].encode() + b"\r\nmn\r\n")
reply = b""
while not reply.endswith(b"MN\r\n"):
    piece = server.recv(65536)
    if not piece:
        break
    reply += piece
sys.stdout.write(reply[:-4].decode())
END
}

# on_terminal ANSWER ARGUMENT...: runs the command on a terminal, where ANSWER
# is typed at a question; its output goes to $scratch/out, its status to $status.
on_terminal() {
    python3 - "$scratch/out" "$tool" "$@" <<'END'
import os, pty, sys
out, tool, answer, arguments = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(tool, [tool] + arguments)
seen, answered = b"", False
with open(out, "wb") as stream:
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        stream.write(piece)
        seen += piece
        if not answered and b"[yes/no] " in seen:
            os.write(terminal, answer.encode() + b"\n")
            answered = True
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    status=$?
}

# interrupted ARGUMENT...: runs the command until it waits, then interrupts it as
# Ctrl-C does; its status, with 128 for a signal, goes to $status.
interrupted() {
    python3 - "$scratch" "$tool" "$@" <<'END'
import signal, subprocess, sys
scratch, command = sys.argv[1], sys.argv[2:]
with open(scratch + "/out", "w") as out, open(scratch + "/err", "w") as err:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for line in child.stderr:
        err.write(line.decode())
        if b"has to last" in line:
            child.send_signal(signal.SIGINT)
result = child.wait()
sys.exit(128 - result if result < 0 else result)
END
    status=$?
}
