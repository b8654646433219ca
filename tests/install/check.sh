#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make installcheck` runs: programs are built against the installed
# library as a user builds them, through pkg-config, and run; then every
# example. From the environment: CC CXX DESTDIR libdir mandir version
# source.
set -eu

# Not the variables of the make that called: examples/Makefile is a user's.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS
pkg_config=${PKG_CONFIG:-pkg-config}
export PKG_CONFIG_PATH="$DESTDIR$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export LD_LIBRARY_PATH="$DESTDIR$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if [ -n "$DESTDIR" ]; then
    export PKG_CONFIG_SYSROOT_DIR="$DESTDIR"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

fail() {
    echo "installcheck: $*" >&2
    exit 1
}

found=$($pkg_config --modversion warmring)
[ "$found" = "$version" ] || fail "pkg-config finds warmring $found, not $version"

cat >"$scratch/version.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <warmring/warmring.h>
#ifdef WITH_LIBMEMCACHED
#include <warmring/libmemcached.h>
#endif

int main(void) {
    puts(warmring_version());
    return strcmp(warmring_version(), WARMRING_VERSION_STRING) != 0;
}
END
if [ "$with_libmemcached" = 1 ]; then
    sed -i 's/^#ifdef WITH_LIBMEMCACHED$/#if 1/' "$scratch/version.c"
fi
cp "$scratch/version.c" "$scratch/version.cc"

# build LANGUAGE COMPILER...
build() {
    language=$1
    shift
    "$@" -o "$scratch/$language" "$scratch/version.$language" \
        $($pkg_config --cflags --libs warmring) || fail "$1 cannot build a program"
    printed=$("$scratch/$language") || fail "$scratch/$language ends with an error"
    [ "$printed" = "$version" ] || fail "a program runs with warmring $printed, not $version"
}
build c $CC
if command -v "${CXX%% *}" >/dev/null; then
    build cc $CXX
fi
# All of the static library, with what pkg-config says that it needs.
if [ -f "$DESTDIR$libdir/libwarmring.a" ]; then
    flags=$($pkg_config --cflags --libs --static warmring |
        sed 's/-lwarmring\b/-Wl,--whole-archive -l:libwarmring.a -Wl,--no-whole-archive/')
    # shellcheck disable=SC2086 # options
    $CC -o "$scratch/static" "$scratch/version.c" $flags || fail "the static library lacks something"
    [ "$("$scratch/static")" = "$version" ] || fail "a program with the static library does not run"
fi
for page in man3/warmring_get.3 man3/warmring_client_single_keys.3 man1/warmring.1; do
    [ -s "$DESTDIR$mandir/$page" ] || [ -s "$DESTDIR$mandir/$page.gz" ] || fail "no manual page $page"
done

if command -v cmake >/dev/null; then
    mkdir "$scratch/project"
    cp "$source/tests/install/cmake/CMakeLists.txt" "$scratch/project"
    # shellcheck disable=SC2086 # a compiler and its options
    set -- $CC
    compiler=$1
    shift
    # configure_project WANTED-VERSION
    configure_project() {
        cmake -S "$scratch/project" -B "$scratch/project/build" -DWANTED="$1" \
            -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$options" \
            -Dwarmring_DIR="$DESTDIR$libdir/cmake/warmring" >"$scratch/cmake.log" 2>&1
    }
    options=$*
    ! configure_project 99 || fail "CMake finds version 99"
    configure_project "${version%.*}" && cmake --build "$scratch/project/build" >>"$scratch/cmake.log" 2>&1 ||
        {
            cat "$scratch/cmake.log" >&2
            fail "a project of CMake's cannot use the library"
        }
    printed=$("$scratch/project/build/user")
    [ "$printed" = "$version" ] || fail "CMake's program runs with warmring $printed"
    echo "installcheck: CMake finds it"
elif [ -n "${CI:-}" ]; then
    fail "cmake is not installed"
fi
echo "installcheck: warmring $found is found, compiles, links and runs"

if [ ! -f "$source/examples/Makefile" ]; then
    echo "installcheck: there are no examples"
    exit 0
fi
mkdir "$scratch/examples"
cp "$source"/examples/Makefile "$source"/examples/run.sh "$source"/examples/*.c "$scratch/examples"
chmod -R u+w "$scratch/examples"
if [ "$with_libmemcached" != 1 ]; then
    # what such a build leaves out
    for example in $(grep -l libmemcached "$scratch"/examples/*.c); do
        sed -i "s/\\b$(basename "$example" .c)\\b//" "$scratch/examples/Makefile"
        rm "$example"
    done
fi
${MAKE:-make} -C "$scratch/examples" CC="$CC" check || fail "an example failed"
for example in "$scratch"/examples/*.c; do
    [ -x "${example%.c}" ] || fail "examples/Makefile does not build $(basename "$example")"
done
echo "installcheck: the examples run"
