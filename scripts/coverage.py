#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up what gcov says about lib/ (its JSON, a document a line, on stdin) and
prints it by layer. Code of headers is in several objects: a line or a function
has run when it has in one of them, and so has a branch."""

import collections
import json
import os
import sys

LAYERS = ["base", "ring", "plan", "topology", "net", "client", "fleet"]
LEAST_LINES, LEAST_BRANCHES = 92.0, 80.0


def read(root, stream):
    """lines {(file, line): count}, branches {(file, line, index): count},
    functions {(file, name, line): count}, all of files below root."""
    lines = collections.Counter()
    branches = collections.Counter()
    functions = collections.Counter()
    for document in map(json.loads, filter(str.strip, stream)):
        for file in document["files"]:
            name = os.path.normpath(
                os.path.join(document["current_working_directory"], file["file"])
            )
            if not name.startswith(root):
                continue
            name = name[len(root):]
            for line in file["lines"]:
                lines[name, line["line_number"]] += line["count"]
                for index, branch in enumerate(line["branches"]):
                    branches[name, line["line_number"], index] += branch["count"]
            for function in file["functions"]:
                where = name, function["name"], function["start_line"]
                functions[where] += function["execution_count"]
    return lines, branches, functions


def share(counts, layer):
    """How many ran, how many there are, and the share in percent."""
    chosen = [n for where, n in counts.items() if layer in (None, where[0].split("/")[0])]
    ran = sum(n > 0 for n in chosen)
    return ran, len(chosen), 100.0 * ran / max(len(chosen), 1)


def print_row(title, lines, branches, functions):
    print(
        "  %-10s %6d %7.1f %% %9d %7.1f %% %10d %7.1f %%"
        % (
            title,
            lines[1], lines[2],
            branches[1], branches[2],
            functions[1], functions[2],
        )
    )


def print_files(lines, most=12):
    left = collections.Counter()
    total = collections.Counter()
    for (file, _), count in lines.items():
        left[file] += count == 0
        total[file] += 1
    print("\n  Files with the most lines that no test ran:")
    for file, count in left.most_common(most):
        if count:
            print("    %-32s %4d of %d" % (file, count, total[file]))


def main():
    root = os.path.normpath(sys.argv[1]) + "/"
    counts = read(root, sys.stdin)
    if not counts[0]:
        sys.exit("gcov says nothing about " + root)
    print("\n  %-10s %16s %19s %20s" % ("layer", "lines", "branches", "functions"))
    for layer in LAYERS:
        print_row(layer, *(share(part, layer) for part in counts))
    lines, branches, functions = (share(part, None) for part in counts)
    print_row("lib", lines, branches, functions)
    print("\n  Functions that no test ran:")
    for (file, name, line), count in sorted(counts[2].items()):
        if count == 0:
            print("    %s:%d %s" % (file, line, name))
    print_files(counts[0])
    print("\nlines %.1f %%, branches %.1f %%" % (lines[2], branches[2]))
    sys.exit(lines[2] < LEAST_LINES or branches[2] < LEAST_BRANCHES)


main()
