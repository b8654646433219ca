#!/bin/sh
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages from the tarball, asks lintian, and tries them:
# unpacked to a directory, programs are built against them as a user would, and
# the examples run. Leaves them in build/debian. From the environment:
#
#   DEB_BUILD_OPTIONS  nocheck: without the test suite
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build=$source/build/debian
log=$build/packages.log
rm -rf "$build"
mkdir -p "$build/tarball"
: >"$log"

make_tarball() {
    bootstrap_if_needed
    (cd "$build/tarball" && "$source/configure" && make dist) || return 1
    version=$("$source/configure" --version | sed -n '1s/.* //p')
    cp "$build/tarball/warmring-$version.tar.xz" "$build/warmring_$version.orig.tar.xz"
    tar -C "$build" -xf "$build/warmring_$version.orig.tar.xz"
    tree=$build/warmring-$version
}

make_packages() {
    (cd "$tree" && dpkg-buildpackage -us -uc -d -j"$(nproc)")
}

ask_lintian() {
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,no-debian-changes \
        "$build"/warmring_*.changes
}

# Each module that warmring.pc asks for is in a package that -dev depends on, or
# pkg-config refuses to build with it where the others are not installed.
needed_by_pkg_config() {
    local depends module package missing=0
    depends=$(dpkg-deb -f "$build"/libwarmring-dev_*.deb Depends)
    for module in $(sed -n 's/^Requires.private: //p' "$1"); do
        package=$(dpkg -S "$(pkg-config --variable=pcfiledir "$module")/$module.pc" | sed 's/:.*//')
        if ! grep -qw -- "$package" <<<"$depends"; then
            echo "libwarmring-dev does not depend on $package, which has $module.pc"
            missing=1
        fi
    done
    return "$missing"
}

try_packages() {
    local root=$build/root architecture package
    architecture=$(gcc -print-multiarch)
    for package in "$build"/*.deb; do
        dpkg-deb -x "$package" "$root" || return 1
    done
    "$root/usr/bin/warmring" --version >/dev/null 2>&1 ||
        LD_LIBRARY_PATH=$root/usr/lib/$architecture "$root/usr/bin/warmring" --version
    needed_by_pkg_config "$root/usr/lib/$architecture/pkgconfig/warmring.pc" || return 1
    CC=gcc CXX=g++ DESTDIR=$root libdir=/usr/lib/$architecture mandir=/usr/share/man version=$version \
        source=$tree with_libmemcached=1 sh "$tree/tests/install/check.sh"
}

echo "debian packages"
step 'install packages' install_missing build test dist debian
step tarball make_tarball
version=$("$source/configure" --version | sed -n '1s/.* //p')
tree=$build/warmring-$version
step 'dpkg-buildpackage' make_packages
step lintian ask_lintian
step 'try them' try_packages
ls -l "$build"/*.deb
