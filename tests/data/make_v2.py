#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the v2.*.csv files beside it.

An implementation of the v2 ring of its own: zlib's CRC-32, an XXH64 in plain
Python, a sorted list. It shares nothing with the C code, so the files say
what the ring must be, not what the library does.

    python3 make_v2.py            writes the files again
    python3 make_v2.py --check    fails if that would change one
"""
import bisect
import fractions
import math
import os
import random
import sys
import zlib

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
    0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotate(value, bits):
    return ((value << bits) | (value >> (64 - bits))) & MASK


def xxh64_round(lane, word):
    return rotate((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """XXH64 with seed 0."""
    def word(at, size):
        return int.from_bytes(data[at:at + size], "little")

    at, end = 0, len(data)
    if end >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= end:
            for i in range(4):
                lanes[i] = xxh64_round(lanes[i], word(at + 8 * i, 8))
            at += 32
        result = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            result = ((result ^ xxh64_round(0, lane)) * P1 + P4) & MASK
    else:
        result = P5
    result = (result + end) & MASK
    while at + 8 <= end:
        result = (rotate(result ^ xxh64_round(0, word(at, 8)), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= end:
        result = (rotate(result ^ word(at, 4) * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    while at < end:
        result = rotate(result ^ data[at] * P5 & MASK, 11) * P1 & MASK
        at += 1
    result = (result ^ result >> 33) * P2 & MASK
    result = (result ^ result >> 29) * P3 & MASK
    return result ^ result >> 32


assert xxh64(b"") == 0xEF46DB3751D8E999
assert xxh64(b"abc") == 0x44BC2CF5AD770999
assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


class Server:
    def __init__(self, host, port=0, weight="1", name=None):
        self.host, self.port, self.weight, self.name = host, port, weight, name

    def identity(self):
        if self.name is not None:
            return self.name.encode() + b"\0"
        if self.host.startswith("/"):
            return self.host.encode() + b"\0"
        return b"%s\0%d" % (self.host.encode(), self.port or 11211)

    def text(self):
        start = "" if self.name is None else self.name + "="
        if self.host.startswith("/"):
            return "%sunix:%s" % (start, self.host)
        host = "[%s]" % self.host if ":" in self.host else self.host
        return start + host + (":%d" % self.port if self.port else "")

    def count(self, points_per_weight):
        """The product in binary64, then half up, and at least one."""
        weight = float(self.weight)
        product = fractions.Fraction(weight * float(points_per_weight))
        return max(1, math.floor(product + fractions.Fraction(1, 2))) if weight > 0 else 0

    def points(self, points_per_weight):
        base, point = zlib.crc32(self.identity()), 0
        for _ in range(self.count(points_per_weight)):
            point = zlib.crc32(point.to_bytes(4, "little"), base)
            yield point


class Ring:
    def __init__(self, servers, points_per_weight):
        self.servers = servers
        owners = {}
        for index, server in enumerate(servers):
            for point in server.points(points_per_weight):
                owners.setdefault(point, set()).add(index)
        self.ties = {point for point, group in owners.items() if len(group) > 1}
        self.owners = {point: max(group, key=lambda index: self.rank(point, index))
                       for point, group in owners.items()}
        self.points = sorted(owners)

    def rank(self, point, index):
        identity = self.servers[index].identity()
        return xxh64(identity + point.to_bytes(4, "little")), identity

    def point(self, key):
        at = bisect.bisect_left(self.points, zlib.crc32(key.encode()))
        return self.points[at % len(self.points)]

    def owner(self, key):
        return self.owners[self.point(key)]


def odd_keys():
    """Keys that are not like the others: short, long, wrapping, UTF-8."""
    yield from ("a", "0", "k" * 250, "session:\u00e9t\u00e9", "key=with=equals;and;more",
                "x" * 249, "\u6771\u4eac")


def sample_keys(random_state, count):
    yield from odd_keys()
    for _ in range(count):
        yield "user:%d" % random_state.randrange(10_000_000)


def tie_keys(ring, wanted):
    """Keys that belong to a point which several servers have."""
    number = 0
    while wanted > 0:
        key = "tie:%d" % number
        if ring.point(key) in ring.ties:
            wanted -= 1
            yield key
        number += 1


def four(random_state, count):
    return ".".join(["10"] + [str(random_state.randrange(1, 255)) for _ in range(count)])


def server_sets():
    state = random.Random(20150713)
    yield "equal5", 1000, [Server(four(state, 3), 11211) for _ in range(5)], 0
    yield "named6", 160, [
        Server("10.1.0.1", 11211, "1", "cache-a"), Server("10.1.0.2", 11212, "2", "cache-b"),
        Server("cache-c.example", 0, "4", "c"), Server("fd00::17", 11211, "1", "six"),
        Server("/run/memcached/a.sock", 0, "1", "local"), Server("10.1.0.3", 0, "3")], 0
    yield "ipv6-unix8", 250, [
        Server("fd00::600c", 11211, "1"), Server("fd00::f674", 0, "2"),
        Server("::1", 22122, "1"), Server("2001:db8:0:0:1::7", 11212, "1"),
        Server("/run/memcached/a.sock", 0, "1"), Server("/tmp/b", 0, "3"),
        Server("cache-d.example", 0, "1"), Server("10.9.8.7", 65535, "1")], 0
    yield "fractions9", "12.5", [
        Server("10.2.0.%d" % i, 11211, weight) for i, weight in enumerate(
            ("0.5", "1.5", "0.04", "0.001", "2.75", "3.3333333333333335", "0", "7.88", "0.36"))], 0
    yield "gigabytes4", "0.0009765625", [
        Server("10.3.0.1", 11211, "262144"), Server("10.3.0.2", 11211, "131072"),
        Server("10.3.0.3", 11211, "1000000"), Server("10.3.0.4", 11211, "1")], 0
    yield "one", 1, [Server("10.4.0.1", 11211)], 0
    yield "ties40", 8000, [Server(four(state, 3), 11211) for _ in range(40)], 60
    yield "ties-named30", 9000, [Server("10.5.0.%d" % i, 11211, "1.1", "node-%d" % i)
                                 for i in range(30)], 40


def csv(points_per_weight, servers, ties):
    ring = Ring(servers, points_per_weight)
    lines = ["# warmring v2, by make_v2.py: key,server index",
             "# points_per_weight %s" % points_per_weight,
             "# points %d" % len(ring.points)]
    lines += ["# server %d %s weight %s" % (i, server.text(), server.weight)
              for i, server in enumerate(servers)]
    lines += ["%s,%d" % (key, ring.owner(key)) for key in sample_keys(random.Random(7), 1000)]
    if ties:
        lines.append("# the owners of these were decided by a tie")
        lines += ["%s,%d" % (key, ring.owner(key)) for key in tie_keys(ring, ties)]
    return "\n".join(lines) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    wrong = []
    for name, points_per_weight, servers, ties in server_sets():
        path = os.path.join(here, "v2.%s.csv" % name)
        text = csv(points_per_weight, servers, ties)
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            with open(path, encoding="utf-8") as file:
                wrong += [] if file.read() == text else [path]
    for path in wrong:
        print("differs: " + path)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
