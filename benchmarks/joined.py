"""Question: how well are searches foreseen, by the first rounds of several sweeps of one machine.

A machine that shares its memory with others may take twice as long for the same work a minute later, which
no model can know. What a CPU and a GPU take together for a search hardly depends on how many edges fit, as
long as the GPU has a head of each long row: a half and a quarter of R-MAT 26, not an eighth. So sweeps of
such parts are repeats of one another. This puts the records of hybrid.py together: of each share the first
rounds of all sweeps, and all rounds of the CPU alone. What was run again, as it took longer than foreseen,
is left out: the model has no say in what counts. And it says how well each sweep foresees the others, which
bounds what a model could. It needs no GPU.

    python benchmarks/joined.py --scale 26 --fits 0.5 0.25
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict

import numpy as np

import harness
from sweeps import agreement, alone, is_swept, of_first_round, place_of

TASK = "bfs"
# The same share is foreseen to take equally long by all, but for rounding, where they are of the same work.
SAME = 1e-3


def main():
    options = _options()
    sweeps = [_read(options.scale, fits) for fits in options.fits]
    for other in sweeps[1:]:
        if other["rates"] != sweeps[0]["rates"]:
            sys.exit(
                f"the sweeps of {_named(sweeps[0])} and {_named(other)} were foreseen by different rates, so "
                "they are of two machines or two calibrations; give --fits of one"
            )
    cpu = _joined([alone(sweep["rows"], "cpu") for sweep in sweeps])
    gpu = _joined([of_first_round(alone(sweep["rows"], "cuda:0")) for sweep in sweeps])
    shares = list(_shares(sweeps))
    if not shares:
        sys.exit("these sweeps have no share in common: run hybrid.py with the same --policies and --step")
    longer = [row["longest_over_shortest"] for row in shares]
    summary = {
        **agreement(cpu, [gpu, *shares]),
        "of_hybrids": agreement(cpu, shares),
        # As in the records, with what was run again, and without; but over the CPU alone of all sweeps.
        "of_each_sweep": {f"{sweep['fits']:g}": _of_one(cpu, sweep["rows"]) for sweep in sweeps},
        "longest_over_shortest": {"mean": float(np.mean(longer)), "median": float(np.median(longer))},
        # Of seconds, if what one sweep measured were foreseen for the other.
        "mean_absolute_error_by_another_sweep": _by_one_another(sweeps, shares),
    }
    question = __doc__.splitlines()[0]
    columns = ("share on the CPU", "foreseen", "median of all", "of each sweep")
    harness.show(question, columns, [_cells(row) for row in (cpu, gpu, *shares)])
    print(json.dumps(summary, indent=1))
    if not options.no_record:
        harness.record(
            f"joined_{TASK}_{options.scale}",
            question=question,
            rows=[cpu, gpu, *shares],
            head={"command": " ".join(["python benchmarks/joined.py", *sys.argv[1:]])},
            graph=f"rmat:{options.scale}",
            of=[{"fits": sweep["fits"]} | harness.head_of(sweep) for sweep in sweeps],
            summary=summary,
        )


def _by_one_another(sweeps, shares):
    medians = np.array([row["medians_of_sweeps"] for row in shares]).T
    return {
        f"{sweep['fits']:g} by {other['fits']:g}": float(np.abs(theirs / own - 1).mean())
        for sweep, own in zip(sweeps, medians, strict=True)
        for other, theirs in zip(sweeps, medians, strict=True)
        if sweep is not other
    }


def _read(scale, fits):
    place = place_of(TASK, scale, fits)
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.exit(f"there is no results/{place.name}: run benchmarks/hybrid.py with --tasks {TASK} first")


def _named(sweep):
    return f"hybrid_{TASK} with {sweep['fits']:g}"


def _shares(sweeps):
    """A row of each share that all sweeps have."""
    rows = defaultdict(list)
    for row in [row for sweep in sweeps for row in sweep["rows"] if is_swept(row)]:
        rows[row["policy"], row["asked_alpha"]].append(of_first_round(row))
    for _, own in sorted(rows.items()):
        if len(own) == len(sweeps):
            yield _joined(own)


def _joined(rows):
    """One row of several: all times, and the middle of what was foreseen."""
    foreseen = [row["predicted_seconds"] for row in rows]
    if max(foreseen) > min(foreseen) * (1 + SAME):
        where = _share(rows[0])
        times = " and ".join(harness.duration(seconds) for seconds in foreseen)
        sys.exit(f"{where} was foreseen to take {times}: these sweeps are not of the same work; join others")
    seconds = [one for row in rows for one in row["seconds"]]
    medians = [row["median_seconds"] for row in rows]
    return {name: rows[0][name] for name in ("on", "policy", "alpha")} | {
        "predicted_seconds": harness.median(foreseen),
        "median_seconds": harness.median(seconds),
        "medians_of_sweeps": medians,
        "longest_over_shortest": max(medians) / min(medians),
        "seconds": seconds,
    }


def _of_one(cpu, rows):
    own = [alone(rows, "cuda:0"), *(row for row in rows if is_swept(row))]
    return {**agreement(cpu, own), "of_first_rounds": agreement(cpu, [of_first_round(row) for row in own])}


def _share(row):
    return row["on"] if row["alpha"] is None else f"{row['policy']} {row['alpha']:.2f}"


def _cells(row):
    times = (harness.duration(row[name]) for name in ("predicted_seconds", "median_seconds"))
    return (_share(row), *times, ", ".join(harness.duration(seconds) for seconds in row["medians_of_sweeps"]))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=26)
    parser.add_argument("--fits", type=float, nargs="+", default=[0.5, 0.25])
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
