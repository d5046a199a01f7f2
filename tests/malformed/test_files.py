"""Every bad file and call of `files.CASES` raises its error, and leaves no files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from malformed.files import CASES

CHILD = Path(__file__).with_name("child.py")


def _run(calls, cache):
    """Return the outcomes by name. After a crash, the remaining calls run in a new process."""
    outcomes = {}
    while calls:
        done = subprocess.run(
            [sys.executable, str(CHILD)],
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "2", "XDG_CACHE_HOME": cache},
        )
        printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        outcomes |= {o["name"]: o for o in printed if "name" in o}
        begun = [o["begin"] for o in printed if "begin" in o]
        if done.returncode == 0:
            return outcomes
        if not begun:
            pytest.fail(f"the process did not start: {done.stderr[-2000:]}")
        end = {"error": f"crash, status {done.returncode}", "message": done.stderr[-2000:], "line": None}
        outcomes[begun[-1]] = {**end, "ours": False, "trace": ""}
        calls = calls[[c["name"] for c in calls].index(begun[-1]) + 1 :]
    return outcomes


@pytest.fixture(scope="module")
def outcomes():
    with tempfile.TemporaryDirectory(prefix="evener-malformed-") as base:
        # Unprivileged calls must still reach their file.
        Path(base).chmod(0o755)
        calls = [_prepare(case, Path(base) / f"case{number}") for number, case in enumerate(CASES)]
        found = _run(calls, f"{base}/cache")
        after = {call["name"]: _names(Path(call["folder"])) for call in calls}
        yield {call["name"]: (call, found[call["name"]], after[call["name"]]) for call in calls}


def _prepare(case, folder):
    folder.mkdir()
    path = str(case.make(folder))
    return {
        "name": case.name,
        "path": path,
        "folder": str(folder),
        "action": case.action,
        "options": case.options,
        "unprivileged": case.unprivileged,
        "file_limit": case.file_limit,
        "before": _names(folder),
    }


def _names(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_names_are_distinct():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(case, outcomes):
    call, outcome, after = outcomes[case.name]
    assert outcome["error"] == case.error, outcome["trace"] or outcome["message"]
    message = outcome["message"]
    for word in case.words:
        assert word.lower() in message.lower()
    if case.error != "ArgumentError":
        assert Path(call["path"]).name.removesuffix(".properties") in message
    assert outcome["line"] == case.line
    if case.line is not None:
        assert f"line {case.line}:" in message
    assert "\n" not in message
    assert len(message) < 1000
    assert not re.search(r"[a-z)][.?!] [A-Z]", message), "one sentence"
    assert "Traceback" not in message
    if case.action == "write":
        assert after == call["before"]
