#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles on its own, as C11 and as C++17, without a
# warning, with every compiler there is.

. "$(dirname "$0")/../lib/tap.sh"

flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$source/include"
if [ "$with_libmemcached" = 1 ]; then
    flags="$flags $(${PKG_CONFIG:-pkg-config} --cflags libmemcached)" || tap_bail 'no libmemcached'
fi

# compile LANGUAGE STANDARD COMPILER HEADER
compile() {
    echo "#include <warmring/$4>" >"$scratch/alone.$1"
    $3 -std="$2" $flags "$scratch/alone.$1" >"$scratch/messages" 2>&1
    tap_ok $? "$4 as $2 with $3"
    sed 's/^/#   /' "$scratch/messages"
}

# every COMPILER... : those there are, once each.
every() {
    for compiler; do
        if command -v "${compiler%% *}" >/dev/null; then
            echo "$compiler"
        fi
    done | sort -u
}

for header in "$source"/include/warmring/*.h; do
    case $with_libmemcached/$header in
    0/*/libmemcached.h) continue ;;
    esac
    for compiler in $(every gcc clang); do
        compile c c11 "$compiler" "$(basename "$header")"
    done
    for compiler in $(every g++ clang++); do
        compile cc c++17 "$compiler" "$(basename "$header")"
    done
done

# It would tell.
echo 'static inline int f(void) { int unused; return (char)300; }' >"$scratch/bad.c"
! ${CC:-cc} -std=c11 $flags "$scratch/bad.c" >/dev/null 2>&1
tap_ok $? "a warning is an error"

tap_done
