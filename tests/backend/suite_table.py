"""A plugin of pytest: a table of the functions that NetworkX's own tests call on the backend.

`make test-networkx` runs the suite with this plugin. EVENER_NETWORKX_TABLE names the JSON file to write.
For each function: tests in which Evener computed an answer, and how many passed; its calls, calls that it
left to NetworkX after a look at the graph, and refused calls by reason.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from _evener_networkx import table
from _evener_networkx.interface import BACKEND
from _evener_networkx.table import TABLE

CALLS = {name: {"tests": 0, "passed": 0, "calls": 0, "left": 0, "refused": Counter()} for name in TABLE}
_on_networkx = table.on_networkx
_called = set()


def _counting(entry):
    """Return a function of the table that counts its calls."""
    name = entry.name

    def call(*args, **kwargs):
        left = CALLS[name]["left"]
        try:
            answer = entry.call(*args, **kwargs)
        except NotImplementedError as error:
            CALLS[name]["refused"][str(error) or type(error).__name__] += 1
            raise
        if CALLS[name]["left"] == left:
            _called.add(name)
            CALLS[name]["calls"] += 1
        return answer

    call.__name__ = name
    return entry._replace(call=call)


def _leave(name, *args, **kwargs):
    CALLS[name]["left"] += 1
    return _on_networkx(name, *args, **kwargs)


def _can_run(name, args, kwargs):
    reason = TABLE[name].reason_against(args, kwargs)
    if reason:
        CALLS[name]["refused"][reason] += 1
    return reason or True


def pytest_configure():
    TABLE.update({name: _counting(entry) for name, entry in TABLE.items()})
    BACKEND.can_run = _can_run
    table.on_networkx = _leave


def pytest_runtest_setup():
    _called.clear()


def pytest_runtest_logreport(report):
    if report.when == "call" and not hasattr(report, "node"):  # the process that ran the test counts it
        for name in _called:
            CALLS[name]["tests"] += 1
            CALLS[name]["passed"] += report.passed


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # of a process of pytest-xdist
        session.config.workeroutput["functions"] = json.dumps(CALLS)
    elif path := os.environ.get("EVENER_NETWORKX_TABLE"):
        record = {"networkx": nx.__version__, "functions": CALLS}
        Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add the counts of a process of pytest-xdist, whose tests all have run."""
    for name, counts in json.loads(getattr(node, "workeroutput", {}).get("functions", "{}")).items():
        of_all = CALLS[name]
        of_all["refused"].update(counts.pop("refused"))
        for what, count in counts.items():
            of_all[what] += count
