"""A plugin of pytest: which of NetworkX's own tests pass on the backend, and what the backend refuses.

`benchmarks/networkx_suite.py` runs the suite with this plugin. EVENER_NETWORKX_TABLE names the JSON file to
write. It has the number of tests by outcome. For each function, it has the tests in which Evener computed an
answer, and how many of these tests passed; its calls, calls that it left to NetworkX after a look at the
graph, and refused calls by reason. Without fallback, a refused call ends its test.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from _evener_networkx import table
from _evener_networkx.interface import BACKEND, KNOWN_DIFFERENCES
from _evener_networkx.table import TABLE

CALLS = {name: {"tests": 0, "passed": 0, "calls": 0, "left": 0, "refused": Counter()} for name in TABLE}
# Tests by outcome, and tests that ended at a function that Evener does not have.
OUTCOMES, MISSING = Counter(), Counter()
_on_networkx, _convert_from_nx = table.on_networkx, BACKEND.convert_from_nx
# In the current test: functions that computed an answer, and functions that refused a call.
_called, _refused = set(), set()


def _refuse(name, reason):
    _refused.add(name)
    # Names of attributes, nodes and numbers would make several reasons of one.
    CALLS[name]["refused"][re.sub(r"'[^']*' (has|is)", r"\1", str(reason))] += 1


def _counting(entry):
    """Return a function of the table that counts its calls."""
    name = entry.name

    def call(*args, **kwargs):
        left = CALLS[name]["left"]
        try:
            answer = entry.call(*args, **kwargs)
        except NotImplementedError as error:
            _refuse(name, error)
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
        _refuse(name, reason)
    return reason or True


def _convert(graph, *, name=None, **kwargs):
    try:
        return _convert_from_nx(graph, name=name, **kwargs)
    except NotImplementedError as error:
        if name in CALLS:
            _refuse(name, error)
        raise


def pytest_configure():
    TABLE.update({name: _counting(entry) for name, entry in TABLE.items()})
    BACKEND.can_run = _can_run
    BACKEND.convert_from_nx = _convert
    table.on_networkx = _leave


def pytest_runtest_setup():
    _called.clear()
    _refused.clear()


def _outcome(report):
    """Return the outcome of a test; without fallback, NetworkX marks a test with a refused call as xfail."""
    reason = getattr(report, "wasxfail", None)
    if reason is None or report.passed:
        return report.outcome
    if _missing(reason) or (not nx.config.fallback_to_nx and _refused):
        return "refused"
    return "another right answer" if reason in KNOWN_DIFFERENCES.values() else "fails in NetworkX"


def _missing(reason):
    """Return the function that a test called and that Evener does not have, or None."""
    found = re.search(r"'(\w+)' not implemented by evener$", reason)
    return found and found[1]


def pytest_runtest_logreport(report):
    # The process that ran the test counts it. A test that ends before its call has no report of a call.
    ended = report.when == "call" or (report.when == "setup" and not report.passed)
    if hasattr(report, "node") or not ended:
        return
    outcome = _outcome(report)
    OUTCOMES[outcome] += 1
    if outcome == "refused" and (name := _missing(report.wasxfail)):
        MISSING[name] += 1
    for name in _called:
        CALLS[name]["tests"] += 1
        CALLS[name]["passed"] += outcome == "passed"


def pytest_sessionfinish(session):
    counts = {"outcomes": OUTCOMES, "missing": MISSING, "functions": CALLS}
    if hasattr(session.config, "workeroutput"):  # of a process of pytest-xdist
        session.config.workeroutput["counts"] = json.dumps(counts)
    elif path := os.environ.get("EVENER_NETWORKX_TABLE"):
        record = {"networkx": nx.__version__, **counts}
        Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add the counts of a process of pytest-xdist, whose tests all have run."""
    counts = json.loads(getattr(node, "workeroutput", {}).get("counts", "{}"))
    OUTCOMES.update(counts.get("outcomes", {}))
    MISSING.update(counts.get("missing", {}))
    for name, of_worker in counts.get("functions", {}).items():
        of_all = CALLS[name]
        of_all["refused"].update(of_worker.pop("refused"))
        for what, count in of_worker.items():
            of_all[what] += count
