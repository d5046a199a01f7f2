"""The rows of a sweep by hybrid.py: which are which, and how well the model foresaw them."""

from __future__ import annotations

import numpy as np

import harness

# A placement that took so many times as long as most, by what was predicted, is run again. Of two sweeps of
# the same searches on one machine, minutes apart, the longer time of a placement was up to 1.23 times the
# other for eleven of nineteen, and 1.35 to 2.1 times for the others.
DISTURBED = 1.25


def place_of(task, scale, fits):
    """Where the sweep's record is."""
    return harness.RESULTS / f"hybrid_{task}_{scale}_{fits:g}.json"


def agreement(cpu, rows):
    """How well speed-ups over the CPU alone were predicted, and the times themselves."""
    measured = np.array([r["median_seconds"] for r in rows])
    expected = np.array([r["predicted_seconds"] for r in rows])
    achieved, predicted = cpu["median_seconds"] / measured, cpu["predicted_seconds"] / expected
    return {
        "pearson": float(np.corrcoef(predicted, achieved)[0, 1]) if len(rows) > 2 else None,
        "mean_absolute_error": float(np.abs(predicted / achieved - 1).mean()) if rows else None,
        "mean_absolute_error_of_seconds": float(np.abs(expected / measured - 1).mean()) if rows else None,
    }


def alone(rows, on):
    """The row of one element alone; of a search on a GPU, with heads."""
    return next(r for r in rows if r["on"] == on and not r["automatic"] and r.get("heads") is not False)


def is_swept(row):
    """Whether it is of a share that was asked for, and so one of the sweep."""
    return row["policy"] is not None and not row["automatic"]


def of_first_round(row):
    """A row with the times of its first round, if there were more."""
    seconds = row["rounds"][0] if "rounds" in row else row["seconds"]
    return row | {"median_seconds": harness.median(seconds), "seconds": seconds}


def shares_of(rows):
    """The policies and shares that were swept."""
    return {(row["policy"], row["asked_alpha"]) for row in rows if is_swept(row)}


def disturbed(rows):
    """The placements of a sweep that took far longer than most, by what was predicted, and were run once."""
    own = [row for row in rows if is_swept(row)]
    times = [row["median_seconds"] / row["predicted_seconds"] for row in own]
    return [
        row
        for row, longer in zip(own, times, strict=True)
        if longer > DISTURBED * float(np.median(times)) and "rounds" not in row
    ]
