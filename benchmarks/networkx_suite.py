"""Question: which of NetworkX's own tests pass on the backend `evener`, and which calls does it refuse.

Each version of NetworkX runs twice. With fallback, NetworkX itself does refused calls. Without fallback, a
refused call ends its test. Both runs share the processes. Each folder of --versions has a version of
NetworkX. The default is the installed version. Each version has a record of its own.

    pip install --no-deps --target versions/3.4 networkx==3.4
    python benchmarks/networkx_suite.py --versions versions/* --processes 28
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import harness

_PLUGIN = Path(__file__).parents[1] / "tests" / "backend"
_PYTEST = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider"]
_PYTEST += ["-p", "suite_table", "--dist", "worksteal"]
# Three tests call functions on thousands of small graphs, which takes minutes.
_SLOW = "test_use_bounds_on_off_consistency or test_tree_isomorphism and (test_positive or test_negative)"
_PYTEST += ["-k", f"not ({_SLOW})"]
# Without these numbers, each process of tests would use all cores, or a GPU.
_ENVIRONMENT = {"NUMBA_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "NETWORKX_TEST_BACKEND": "evener"}
_NUMBERS = ("tests", "passed", "passed without fallback", "refused without fallback")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", nargs="+", type=Path, default=[None], help="folders of pip --target")
    parser.add_argument("--suite", nargs="+", default=["networkx"], help="packages, or modules of tests")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--with-fallback-only", action="store_true", help="one run for each version")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()

    ended = [_version(folder, options) for folder in options.versions]
    sys.exit(not all(ended))


def _version(folder, options):
    """Run the tests of one version, and return whether all runs ended without a failure."""
    modes = [True] if options.with_fallback_only else [True, False]
    workers = max(1, options.processes // len(modes))
    with ThreadPoolExecutor(len(modes)) as pool:
        runs = [*pool.map(_run, repeat(folder), modes, repeat(options.suite), repeat(workers))]
    if None in runs:
        return False
    _show_outcomes(runs)
    version, rows = runs[0]["networkx"], _rows(*(run.pop("functions") for run in runs))
    cells = [(row["function"], *(row.get(number, "") for number in _NUMBERS)) for row in rows]
    harness.show(f"Functions of NetworkX {version}", ["", *_NUMBERS], cells)
    if not options.no_record:
        question = __doc__.splitlines()[0]
        harness.record(f"networkx_suite_{version}", question=question, runs=runs, rows=rows)
    return all("failed" not in run["outcomes"] for run in runs)


def _run(folder, fallback, suite, workers):
    """Return what the plugin counted in a run, or None if pytest did not end."""
    with tempfile.TemporaryDirectory(prefix="evener-suite-") as scratch:
        written = Path(scratch, "table.json")
        paths = [*([folder.resolve()] if folder else []), _PLUGIN, os.environ.get("PYTHONPATH", "")]
        environment = {
            # Variables of another pytest, which may have started this program, are not for these tests.
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            **_ENVIRONMENT,
            "NETWORKX_FALLBACK_TO_NX": "True" if fallback else "",
            "EVENER_NETWORKX_TABLE": str(written),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        }
        command = [*_PYTEST, "-n", str(workers), "--pyargs", *suite]
        ran = subprocess.run(
            command, env=environment, cwd=scratch, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            print(folder, fallback, ran.stdout[-20_000:], ran.stderr[-2000:], flush=True)
        if not written.exists():
            return None
        table = {"fallback": fallback, **json.loads(written.read_text(encoding="utf-8"))}
        print(table["networkx"], "fallback" if fallback else "no fallback", table["outcomes"], flush=True)
        return table


def _show_outcomes(runs):
    outcomes = list(dict.fromkeys(outcome for run in runs for outcome in run["outcomes"]))
    cells = [
        (
            f"{run['networkx']} {'with' if run['fallback'] else 'without'} fallback",
            *(run["outcomes"].get(outcome, 0) for outcome in outcomes),
        )
        for run in runs
    ]
    harness.show("Tests of NetworkX on Evener", ["", *outcomes], cells)


def _rows(with_fallback, without=None):
    """Return a row for each function: its tests with fallback, and its tests without fallback, if any."""
    rows = []
    for name, counts in with_fallback.items():
        row = {"function": name, **counts}
        if without is not None:
            row["passed without fallback"] = without[name]["passed"]
            row["refused without fallback"] = sum(without[name]["refused"].values())
            row["reasons without fallback"] = without[name]["refused"]
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
