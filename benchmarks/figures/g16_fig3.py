"""Question: how does the ratio r of a GPU to the CPU grow with the edges (G16, figure 3).

The paper fits r = 9.3 + 0.2 E for up to 50 million edges E, 19.5 up to 125, and 23.7 up to 350. The machine
has a GTX 480 and a Xeon with four cores. The points are between 8 and 25.

Here: `evener profile --paper` on the elements of `--on`: PageRank, R-MAT graphs, random divisions. Two
equal CPU elements should have r = 1. Points of an earlier sweep on a GPU come from
`results/figures/runs.json`.

    python benchmarks/figures/g16_fig3.py --on cpu:1,cpu:1 --scales 14 15 16 17 18
    python benchmarks/figures/g16_fig3.py --on cpu,cuda:0 --scales 20 21 22 23 24
"""

from __future__ import annotations

import json
from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel, series_of

import harness
from evener.cli.profile import measure_ratio
from evener.planning.ratio import RatioFit, fit_ratio

TITLE = "the ratio r of two elements, by the edges"
PAPER = "r = 9.3 + 0.2 E up to 50 million edges, 19.5 up to 125 million, 23.7 up to 350 million"
KIND = "lines"
SHOWN = ("on", "edges", "ratio", "fit", "paper")
_PAPER_FIT = RatioFit("GTX 480", 9.3, 0.2e-6, (50e6, 125e6), (19.5, 23.7))


def rows(points, options):
    """Return the points of this run, and those of the recorded sweep on a GPU."""
    found = []
    for on, own in {options.on: points, **_of_sweep(options)}.items():
        fit = fit_ratio(on, *zip(*own, strict=True))
        found += [
            {
                "on": on,
                "edges": edges,
                "ratio": ratio,
                "fit": fit.ratio(edges),
                "paper": _PAPER_FIT.ratio(edges),
            }
            for edges, ratio in sorted(own)
        ]
    return found


def _of_sweep(options):
    """Return r of a CPU and a GPU, from the seconds of an edge on each in runs of PageRank."""
    place = harness.RESULTS / "figures" / "runs.json"
    if "cuda" in options.on or not place.exists():
        return {}
    document = json.loads(place.read_text(encoding="utf-8"))
    found = []
    for row in document["rows"]:
        if (row["task"], row["on"], row["policy"]) == ("pagerank", "cpu,cuda:0", "random"):
            cpu, gpu = row["elements"]
            if not gpu["mapped_edges"]:
                of_edge = [row["busy"][one["element"]]["compute"] / one["edges"] for one in (cpu, gpu)]
                found.append((gpu["edges"], of_edge[0] / of_edge[1]))
    return {f"{document['gpu']}, recorded": found} if found else {}


def here(rows):
    clauses = []
    for on in dict.fromkeys(row["on"] for row in rows):
        own = [row for row in rows if row["on"] == on]
        ratios = [row["ratio"] for row in own]
        clauses.append(
            f"{on}: r is {min(ratios):.3g} to {max(ratios):.3g} for {own[0]['edges'] / 1e6:.3g} to "
            f"{own[-1]['edges'] / 1e6:.3g} million edges"
        )
    return "; ".join(clauses)


def panels(rows):
    scaled = [{**row, "millions": row["edges"] / 1e6} for row in rows]
    curves = series_of(scaled, "on", "millions", "ratio")
    curves["the paper"] = (
        sorted(row["millions"] for row in scaled),
        [row["paper"] for row in sorted(scaled, key=lambda row: row["edges"])],
    )
    return [Panel("PageRank", "million edges", "r", curves, dashed=("the paper",), log=True)]


def main():
    parser = g16_runs.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--on", default="cpu:1,cpu:1", help="two elements, the CPU first")
    parser.add_argument("--scales", type=int, nargs="+", default=[14, 15, 16, 17, 18])
    parser.add_argument("--seeds", type=int, default=3)
    options = harness.recording(parser)
    points, _ = measure_ratio(options.on, options.scales, options.seeds, say=print)
    runs = [(one.edges, one.ratio) for one in points]
    g16_runs.publish_single(Path(__file__).stem, runs, options)


if __name__ == "__main__":
    main()
