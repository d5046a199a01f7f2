"""Make the calls that must fail in a process with little memory, and print the outcome of each.

`test_files.py` starts this program with the calls as JSON on standard input. The program prints the name of
each case before the call, so a crash names its case.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import traceback

# Bytes of address space. Numba, OpenMP and Arrow reserve about 2 GiB.
LIMIT = 5 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    import evener as ev

    graph = ev.Graph.from_edges(list(range(3000)), list(range(1, 3001)))
    for call in json.load(sys.stdin):
        say({"begin": call["name"]})
        say({"name": call["name"], **outcome(ev, graph, call)})


def say(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def outcome(ev, graph, call):
    with unprivileged(call["unprivileged"]), file_limit(call["file_limit"]):
        try:
            if call["action"] == "write":
                ev.write(graph, call["path"], **call["options"])
            else:
                ev.read(call["path"], **call["options"])
        except BaseException as error:  # noqa: BLE001 - any error is an outcome
            kind = type(error)
            return {
                "error": kind.__name__,
                "message": str(error),
                "line": getattr(error, "line", None),
                "ours": issubclass(kind, ev.EvenerError),
                "trace": "".join(traceback.format_exception(error)),
            }
    return {"error": None, "message": "", "line": None, "ours": False, "trace": ""}


@contextlib.contextmanager
def unprivileged(wanted):
    root = wanted and os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextlib.contextmanager
def file_limit(limit):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


if __name__ == "__main__":
    main()
