"""Timing, tables and records of all benchmarks."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from rich.console import Console
from rich.table import Table

import machine

RESULTS = Path(__file__).parent / "results"

# Seconds to wait between contenders, because idle threads spin for some 5 ms with GNU OpenMP.
_SETTLE_SECONDS = 0.05

# Load of the machine before the benchmark, for readers of the record.
_LOAD_BEFORE = os.getloadavg()[0]

# Fewest times for a median.
_LEAST_TIMES = 3

# Values compared at a time, which fit a cache.
_PIECE = 1 << 16


def clocked(call):
    """Turn a function of the round's number into one that returns its seconds and its answer."""

    def run(i):
        gc.collect()
        time.sleep(_SETTLE_SECONDS)
        start = time.perf_counter()
        answer = call(i)
        return time.perf_counter() - start, answer

    return run


def interleaved(contenders, *, rounds, check=None, budget=None, least=_LEAST_TIMES):
    """Time all contenders in turns, one run each per round, after a round that does not count.

    Parameters
    ----------
    contenders : dict of str to callable
        Given the round's number, each returns seconds and an answer; see `clocked`.
    rounds : int
        Timed rounds.
    check : callable, optional
        Called with name, round and answer after each run, outside the clock. Raises if the answer is wrong.
    budget : float, optional
        Seconds after which a contender drops out.
    least : int, default 3
        Times that a contender has before it drops out. If it is 1, a first run beyond the budget counts.

    Returns
    -------
    dict of str to list of float
        Seconds.
    """
    times = {name: [] for name in contenders}
    for i in range(-1, rounds):
        for name, run in contenders.items():
            spent = times[name]
            if budget is not None and len(spent) >= least and sum(spent) > budget:
                continue
            took, answer = run(max(i, 0))
            if check is not None:
                check(name, max(i, 0), answer)
            if i >= 0 or (budget is not None and least == 1 and took > budget):
                spent.append(took)
    return times


def median(times):
    return statistics.median(times)


def rates(times, **counts):
    """Return a row for each contender: its median, each count per second, and all seconds."""
    return [
        {
            "contender": name,
            "median_seconds": median(taken),
            **{f"{counted}_per_second": count / median(taken) for counted, count in counts.items()},
            "seconds": taken,
        }
        for name, taken in times.items()
    ]


def spread(times):
    """Return the distance of the quartiles over the median."""
    if len(times) < 2:
        return 0.0
    low, _, high = statistics.quantiles(times, n=4)
    return (high - low) / statistics.median(times)


def geometric_mean(values):
    return statistics.geometric_mean(values)


def agree(result, name, expected, *, apart, of_largest=0.0):
    """Raise VerificationError if a result's array differs from a verified array.

    A value may differ by `apart` of itself, and by `of_largest` of the largest.
    """
    import numpy as np

    from evener import VerificationError

    found = result[name]
    more = of_largest * np.abs(expected).max() if of_largest else 0.0
    for begin in range(0, len(found), _PIECE):
        piece = slice(begin, begin + _PIECE)
        ours, theirs = found[piece], expected[piece]
        if np.array_equal(ours, theirs):
            continue  # most values
        with np.errstate(invalid="ignore"):  # where both are infinite
            near = np.abs(ours - theirs) <= apart * np.abs(theirs) + more
        off = (ours != theirs) & ~(near & np.isfinite(theirs))
        if off.any():
            v = begin + int(np.flatnonzero(off)[0])
            msg = (
                f"{result.algorithm} has {found[v]} for vertex {result.graph.ids[v]} where a verified run "
                f"has {expected[v]}"
            )
            raise VerificationError(msg)


class Checked:
    """Verifies the first answer to each question, and compares later answers with it.

    Parameters
    ----------
    apart, of_largest : float
        As for `agree`.
    """

    def __init__(self, *, apart, of_largest=0.0):
        self._apart, self._of_largest, self._answers = apart, of_largest, {}

    def check(self, result, name, question, *, verify=False):
        """Raise VerificationError if the array of this name is wrong; with `verify`, if any array is."""
        from evener import verify as verified

        if verify or question not in self._answers:
            verified(result)
            self._answers.setdefault(question, result[name])
        agree(result, name, self._answers[question], apart=self._apart, of_largest=self._of_largest)

    def forget(self, of):
        """Forget the answers to questions that begin with this."""
        self._answers = {question: one for question, one in self._answers.items() if question[0] != of}


def process_bytes(name):
    """Return the bytes of a line of this process's status, such as VmHWM, its largest resident memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def duration(value):
    """Return seconds as text."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def show(title, columns, rows):
    """Print a table. The first column is text, the others are numbers."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    # Do not cut tables that are written to a file or a pipe.
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def recording(parser):
    """Parse the options, with the options to skip verifying or recording."""
    parser.add_argument("--no-verify", action="store_true", help="do not verify or record")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()
    if options.no_verify and not options.no_record:
        parser.error("a time is recorded with its answer verified: --no-verify needs --no-record")
    return options


def racing(parser, *, rounds, budget):
    """Parse the options, with the options of a race against rivals and GAP."""
    from numba import get_num_threads

    parser.add_argument("--gap", default=os.environ.get("GAP_DIR"), help="folder of GAP's binaries")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--budget", type=float, default=budget, help="most seconds for one contender")
    parser.add_argument("--threads", type=int, default=get_num_threads())
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


def record(name, *, question, rows, folder="", head=None, **more):
    """Write `results/<folder>/<name>.json` atomically.

    Rows that are derived from an earlier record have its `head`: command, date and machine.
    """
    document = {"question": question, **(head or _head(folder)), **more, "rows": rows}
    path = RESULTS / folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
    print(f"wrote {path.parent.name}/{path.name}")


def with_earlier(name, rows):
    """Return the rows of an earlier record for other graphs and tasks, and then `rows`.

    An earlier row says in `of` when, where and by which command it was measured.
    """
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return rows
    earlier = json.loads(path.read_text(encoding="utf-8"))
    again = {(row["graph"], row["task"]) for row in rows}
    kept = [row for row in earlier["rows"] if (row["graph"], row["task"]) not in again]
    return [*({"of": head_of(earlier), **row} for row in kept), *rows]


def head_of(document):
    """Return command, date and machine of a record."""
    own = ("command", "when", "commit", "machine", "load before", "versions")
    return {name: document[name] for name in own if name in document}


def _head(folder):
    script = PurePosixPath("benchmarks", folder, Path(sys.argv[0]).name)
    command = ["python", str(script), *(_without_folder(word) for word in sys.argv[1:])]
    return {
        "command": " ".join(command),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": machine.describe(),
        "load before": round(_LOAD_BEFORE, 2),
        "versions": machine.versions(),
    }


def _commit():
    """Return the commit, with "-dirty" if code was changed since; None if it is unknown."""
    git = ["git", "-C", str(RESULTS)]
    found = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        return None
    code = [":(top)*.py", ":(top)*.cu", ":(top)*.cuh"]
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", *code], check=False).returncode
    return found.stdout.strip() + ("-dirty" if changed else "")


def _without_folder(word):
    """Shorten a path to its name, without the folders of this machine."""
    return Path(word).name if os.sep in word else word
