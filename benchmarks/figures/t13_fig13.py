"""Question: how many vertices has the CPU under each policy, and what of its cache (T13, figure 13).

The paper shows the share of the vertices of R-MAT 28 on the CPU, by alpha. For the same edges, HIGH has two
orders of magnitude fewer vertices than RAND or LOW. Figure 12 explains why HIGH is fast: the small bitmap of
visited vertices stays in the last cache (40 MB), so misses fall. The curves are read from a plot.

Here: the vertices that the CPU owns, the bytes of the bitmap and of the state of BFS with mirrors, and the
CPU's seconds per edge. If `perf stat` can count misses of the last cache, a separate search counts them on
all threads of the process.

    python benchmarks/figures/t13_fig13.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import sweep
from panel import Panel

TITLE = "vertices on the CPU under each policy"
PAPER = "for the same edges HIGH has two orders of magnitude fewer vertices on the CPU"
NEEDS = "two elements"
KIND = "lines"
SHOWN = (
    "on",
    "policy",
    "alpha",
    "vertices_on_cpu",
    "visited_bytes",
    "state_bytes",
    "cpu_seconds_an_edge",
    "last_cache_miss_share",
    "misses_over_cpu_alone",
)
_BITS = 8


def cases(options):
    return [*sweep.alone(options, ("bfs",)), *sweep.shares(options, ("bfs",), several=False)]


def rows(runs, options):
    cpu = projections.cpu_alone(runs, options, "bfs")
    found = projections.swept(runs, options, "bfs", on=sweep.hybrids(options)[0])
    return [_row(row, cpu) for row in ([cpu] if cpu else []) + found]


def _row(row, cpu):
    names, _ = projections.sides(row)
    own = [each for each in row["elements"] if each["element"] in names]
    edges, touched = (
        sum(each["edges"] for each in own),
        sum(each["vertices"] + each["mirrors"] for each in own),
    )
    counted, alone = row["last_cache"], (cpu or {}).get("last_cache")
    return {
        "on": row["on"],
        "policy": row["policy"],
        "alpha": row["alpha"],
        "vertices_on_cpu": sum(each["vertices"] for each in own) / row["vertices"],
        "visited_bytes": touched / _BITS,
        "state_bytes": sum(each["state_bytes"]["bfs"] for each in own),
        "cpu_seconds_an_edge": max(row["busy"][name]["compute"] for name in names) / max(edges, 1),
        "last_cache_miss_share": counted and counted["misses"] / max(counted["loads"], 1),
        "misses_over_cpu_alone": counted and alone and counted["misses"] / max(alone["misses"], 1),
        "not_counted": row["not_counted"],
    }


def here(rows):
    shared = {(row["policy"], row["alpha"]): row["vertices_on_cpu"] for row in rows if row["policy"]}
    said = []
    for other in ("random", "low"):
        times = [
            value / shared["high", alpha]
            for (policy, alpha), value in shared.items()
            if policy == other and shared.get(("high", alpha))
        ]
        if times:
            said.append(f"{projections.between(times)} times fewer than {other}")
    counted = [row for row in rows if row["last_cache_miss_share"] is not None]
    reason = next((row["not_counted"] for row in rows if row["not_counted"]), "")
    misses = "misses were counted" if counted else f"misses were not counted: {reason}"
    return f"HIGH has {' and '.join(said)}; {misses}" if said else misses


def panels(rows):
    shares, times = {}, {}
    for row in rows:
        if row["policy"] is not None:
            for found, value in (
                (shares, row["vertices_on_cpu"] * 100),
                (times, row["cpu_seconds_an_edge"] * 1e9),
            ):
                places, values = found.setdefault(row["policy"], ([], []))
                places.append(row["alpha"])
                values.append(value)
    return [
        Panel("vertices on the CPU", "α", "percent of the vertices", shares, log=True),
        Panel("BFS on the CPU's side", "α", "nanoseconds for each of its edges", times, log=True),
    ]


if __name__ == "__main__":
    output.main(Path(__file__).stem)
