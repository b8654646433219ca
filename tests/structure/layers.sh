#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point downward: each layer includes itself and the layers below,
# the pure ones nothing that reaches outside the process, public headers only
# each other and the C library. Then bad includes are planted in a copy, and
# each must be found.

. "$(dirname "$0")/../lib/tap.sh"

# layer: what it may include besides itself
layers='
base:
ring: base
plan: ring base
topology: plan ring base
net: base
client: net topology plan ring base
fleet: client net topology plan ring base
'

# What the pure layers must not include: sockets, files, clocks, threads,
# locale, logs, and the modules of base/ that stand for them.
impure='sys/(socket|un|uio|select|epoll|time|stat|file|mman|ioctl|types)\.h|netinet/.*|arpa/.*|net/.*|netdb\.h|poll\.h|fcntl\.h|unistd\.h|dirent\.h|time\.h|pthread\.h|threads\.h|signal\.h|locale\.h|syslog\.h|libmemcached/.*|libmemcached-.*|warmring/client\.h|warmring/libmemcached\.h|base/deadline\.h|base/fork\.h'

# And must not call, whatever header it comes from.
impure_calls='fopen|fclose|fprintf|printf|puts|perror|getenv|setlocale|strtod|strtof|atof|isalpha|isalnum|isspace|isupper|islower|toupper|tolower|time|clock|clock_gettime|gettimeofday|socket|connect|open|abort|exit|assert'

c_headers='assert|ctype|errno|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdlib|string'

# "FILE INCLUDED" for each include of the files below a directory.
includes() {
    find "$1" -name '*.[ch]' -exec awk '
        /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
            match($0, /[<"][^>"]*[>"]/)
            print FILENAME, substr($0, RSTART, RLENGTH)
        }' {} +
}

# check_layer TREE LAYER ALLOWED: lines for what is wrong.
check_layer() {
    [ -d "$1/lib/$2" ] || return 0
    allowed=$(echo "$2 $3" | tr ' ' '|')
    includes "$1/lib/$2" | grep -E ' "' | grep -vE " \"(($allowed)/[a-z0-9_]+\.h|config\.h)\"\$"
    case $2 in
    ring | plan | topology)
        includes "$1/lib/$2" | grep -E " [<\"]($impure)[>\"]\$"
        find "$1/lib/$2" -name '*.[ch]' -exec grep -nE "(^|[^a-zA-Z0-9_>.])($impure_calls)\(" {} + |
            grep -vE '^[^:]*:[0-9]+:[ \t]*(/?\*|//)' # comments may name them
        ;;
    esac
    return 0
}

check_layers() {
    echo "$layers" | while IFS=: read -r layer allowed; do
        [ -z "$layer" ] || check_layer "$1" "$layer" "${allowed# }"
    done
    for directory in "$1"/lib/*/; do
        name=$(basename "$directory")
        echo "$layers" | grep -q "^$name:" || echo "lib/$name is no layer"
    done
}

check_headers() {
    includes "$1/include" | grep -vE " <(warmring/[a-z]+|$c_headers)\.h>\$" |
        grep -vE 'include/warmring/libmemcached\.h <libmemcached/memcached\.h>$'
}

# Programs and examples use the library as a user does. The simulation is on top
# of the pure layers, whose phase table it asks.
check_users() {
    for directory in tools examples bench; do
        [ ! -d "$1/$directory" ] ||
            includes "$1/$directory" | grep -E ' "(\.\./)*(lib/)?(base|ring|plan|topology|net|client|fleet)/' |
            grep -vE '/bench/sim/[a-z_]+\.[ch] "topology/[a-z]+\.h"$'
    done
}

report() {
    check_layers "$1"
    check_headers "$1"
    check_users "$1"
}

includes "$source/lib" >"$scratch/all"
[ -s "$scratch/all" ]
tap_ok $? "includes are found"
check_layers "$source" >"$scratch/layers"
tap_empty "$scratch/layers" "lib/: includes point downward, pure layers stay pure"
check_headers "$source" >"$scratch/headers"
tap_empty "$scratch/headers" "include/: only warmring's and C's headers"
check_users "$source" >"$scratch/users"
tap_empty "$scratch/users" "tools, examples and benches: only public headers; the simulation: topology/"

# plant FILE TEXT: a copy of the tree with one more file, which must be found.
plant() {
    copy=$scratch/copy
    rm -rf "$copy"
    mkdir -p "$copy" "$(dirname "$copy/$1")"
    cp -R "$source/lib" "$source/include" "$copy"
    mkdir -p "$(dirname "$copy/$1")"
    printf '%s\n' "$2" >"$copy/$1"
    report "$copy" | grep -q "$(basename "$1" .c)"
    tap_ok $? "found in $1: $2"
}
plant lib/base/planted.c '#include "ring/ring.h"'
plant lib/ring/planted.c '#include "net/server.h"'
plant lib/ring/planted.h '#  include	<pthread.h>'
plant lib/plan/planted.c '#include "topology/route.h"'
plant lib/plan/planted.c '#include "base/deadline.h"'
plant lib/topology/planted.c '#include <time.h>'
plant lib/topology/planted.c 'double x = strtod(text, &end);'
plant lib/topology/planted.c '#include "../net/server.h"'
plant lib/topology/planted.c '#include <libmemcached/memcached.h>'
plant lib/net/planted.c '#include "client/view.h"'
plant lib/net/planted.c '#include "topology/route.h"'
plant lib/client/planted.c '#include "fleet/follow.h"'
plant lib/planted/planted.c 'int x;'
plant include/warmring/planted.h '#include <sys/types.h>'
plant include/warmring/planted.h '#include "lib/base/fail.h"'
plant include/warmring/planted.h '#include <libmemcached/memcached.h>'
plant examples/planted.c '#include "net/server.h"'
plant bench/planted.c '#include "topology/route.h"'
plant bench/sim/planted.c '#include "net/server.h"'

tap_done
