# SPDX-License-Identifier: Apache-2.0
"""The page service of examples/port, before and after its move: both do the
same, and find each other's pages in the cache.

    port.py DIRECTORY_OF_PROGRAMS NAME[,NAME] SERVERS

TAP on standard output."""

import http.client
import subprocess
import sys
import tempfile
import threading

PAGES = 60
checks = 0
failed = 0


def check(good, what):
    global checks, failed
    checks += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {checks} - {what}", flush=True)


class Service:
    def __init__(self, program, servers, directory):
        self.process = subprocess.Popen(
            [program, servers, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        word, port = self.process.stdout.readline().split()
        assert word == "port"
        self.port = int(port)

    def ask(self, method, name, body=None):
        """Status, X-Cache and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, "/" + name, body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers.get("X-Cache"), text

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=20)


def check_life(name, service):
    """A page from its birth to its end."""
    story = [
        ("GET", None, (404, "miss", "")),
        ("PUT", "first", (204, "deleted", "")),
        ("GET", None, (200, "miss", "first")),
        ("GET", None, (200, "hit", "first")),
        ("PUT", "second", (204, "deleted", "")),
        ("GET", None, (200, "miss", "second")),
        ("GET", None, (200, "hit", "second")),
        ("DELETE", None, (204, "deleted", "")),
        ("GET", None, (404, "miss", "")),
    ]
    for method, body, expected in story:
        got = service.ask(method, "page-of-" + name, body)
        check(got == expected, f"{name}: {method} is {expected}, got {got}")
        if expected[0] == 404:
            # A page that is not there leaves a lease; nobody has to wait for it.
            service.ask("DELETE", "page-of-" + name)


def check_exchange(writer, reader, what):
    """What one has cached is a hit in the other."""
    names = [f"{what}-{i}.html" for i in range(PAGES)]
    for name in names:
        writer.ask("PUT", name, "page " + name)
        writer.ask("GET", name)
    hits = [name for name in names if reader.ask("GET", name) == (200, "hit", "page " + name)]
    check(len(hits) == PAGES, f"{what}: {len(hits)} of {PAGES} pages are hits")


def check_crowd(name, service):
    """Many at once get the page."""
    service.ask("PUT", "crowd-" + name, "for all")
    answers = []
    readers = [
        threading.Thread(target=lambda: answers.append(service.ask("GET", "crowd-" + name)))
        for _ in range(24)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    good = [a for a in answers if a[0] == 200 and a[2] == "for all"]
    check(len(good) == len(readers), f"{name}: {len(good)} of {len(readers)} at once get the page")


def main():
    programs, names, servers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        services = {
            name: Service(f"{programs}/pages_{name}", servers, directory)
            for name in names.split(",")
        }
        for name, service in services.items():
            check_life(name, service)
            check_crowd(name, service)
        if len(services) == 2:
            before, after = services.values()
            check_exchange(before, after, "before-to-after")
            check_exchange(after, before, "after-to-before")
        for name, service in services.items():
            check(service.end() == 0, f"{name}: ends well")
    print(f"1..{checks}")
    return failed != 0


sys.exit(main())
