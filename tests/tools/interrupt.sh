#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A command that changes a topology file may be ended at any moment, by Ctrl-C
# or killed, and given again until it ends well. Each is ended a little later
# every time, so at every point of its way; holds are over by then. Whenever it
# has ended, by a signal or not, the file is whole and on the way.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3; do
    start_server
done
list 1 2 3:2 >"$scratch/to"
mkdir "$scratch/work"
file=$scratch/work/fleet.json

# insist SIGNAL PHASES COMMAND...: how often the command was ended goes to
# $endings; fails when it ends otherwise than well or by the signal, or the file
# is in none of the PHASES then.
insist() {
    python3 - "$tool" "$file" "$@" >"$scratch/insisted" 2>&1 <<'END'
import json, signal, subprocess, sys, time
tool, file, name, phases = sys.argv[1:5]
command = [tool] + sys.argv[5:]
number = getattr(signal, name)
endings = 0
while True:
    text = json.load(open(file))
    text["since"] = 1000
    with open(file + ".aged", "w") as aged:
        json.dump(text, aged, indent=2)
    subprocess.run(["mv", file + ".aged", file], check=True)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(endings * 0.0006)
    if endings < 100:
        child.send_signal(number)
    out, err = child.communicate()
    phase = json.load(open(file))["phase"]
    if phase not in phases.split(","):
        sys.exit("%s: in %s after %d endings" % (" ".join(command), phase, endings))
    if child.returncode == 0:
        break
    if child.returncode != -number:
        sys.exit("%s: %d after %d endings: %s" % (" ".join(command), child.returncode, endings,
                                                 (out + err).decode()))
    endings += 1
print(endings)
END
}

# goes SIGNAL PHASES COMMAND...: insists, and looks where that has led: to the
# last of the PHASES, with all servers told of it.
goes() {
    signal=$1 phases=$2
    shift 2
    insist "$signal" "$phases" "$@" --yes
    tap_ok $? "$1 $2, ended by $signal until it has done: $(tail -n 1 "$scratch/insisted")"
    in_phase "$file" "${phases##*,}"
    [ "$signal" = SIGKILL ] || told "$(field "$file" steps)"
}

for signal in SIGINT SIGKILL; do
    topology "$file" 60 1 2
    for number in 1 2 3; do
        ask $number flush_all >/dev/null
    done
    goes $signal STABLE,PREPARED migrate begin "$file" --to "$scratch/to"
    goes $signal PREPARED,WARMING migrate warm "$file" 100
    goes $signal WARMING,HANDOVER,DRAINING migrate commit "$file"
    [ $signal = SIGINT ] || told "$(field "$file" steps)"
    if [ $signal = SIGINT ]; then
        goes $signal DRAINING,HANDOVER,PREPARED,STABLE migrate rollback "$file"
        goes $signal STABLE,PREPARED reweight "$file" b=3
        goes $signal PREPARED,WARMING migrate warm "$file" 5
        goes $signal WARMING,HANDOVER,DRAINING migrate commit "$file"
        goes $signal DRAINING,CLOSING,SETTLING migrate finish "$file"
        goes $signal SETTLING,STABLE migrate finish "$file" --settled
    fi
done

# Killed between the file and its announcement: the same command makes it good.
age "$file"
steps=$(field "$file" steps)
for number in 1 2 3; do
    ask $number 'md warmring:00000000deadbeef:steps' >/dev/null
done
ends 0 migrate commit "$file" --yes
says out 'phase DRAINING already'
told "$steps"

# A clock that was wrong is told of, and waits are not cut short.
sed -i "s/^\( *\"since\": \)[0-9]*/\1$(($(date +%s) + 7260))000/" "$file"
interrupted migrate finish "$file" --yes
says err 'DRAINING begins in 2 h'
says err 'is wrong'
[ "$status" -eq 130 ]
tap_ok $? 'it waits'

count=$(find "$scratch/work" -name '.fleet.json.*' | wc -l)
[ "$count" -le 20 ]
tap_ok $? "$count files were left beside by those that were killed"
tap_done
