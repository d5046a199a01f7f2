"""Question: how does PageRank scale if each node has a graph of SCALE 21 (S13, figure 7).

The paper has nodes of two Xeons and three M2050 GPUs. 256 nodes reach 87.04 million edges/s for SCALE 30 on
GPUs, with SCALE 22 for each node. For SCALE 29, the GPUs are 1.52 times as fast as the CPUs. Other rates
are read from a plot.

Here: the simulation of `benchmarks/simulate.py`. Nodes have the element of a rank in
`results/scaling.json`, or the CPU or three GPUs of the recorded sweep in `results/figures/runs.json`. The
network is that of the paper: two rails of 40 Gbit/s. The overhead of a superstep is that of each record. An
edge counts once, as in the paper. Measured points are the weak scaling of the ranks.

    python benchmarks/figures/s13_fig7.py
"""

from __future__ import annotations

from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel, series_of

import harness
import simulate
import simulation
from simulation import Link

TITLE = "PageRank with SCALE 21 on each node"
PAPER = (
    "256 nodes with three GPUs each reach 87 million edges/s for SCALE 30; for SCALE 29, GPUs are 1.52 times "
    "as fast as CPUs"
)
KIND = "lines"
SHOWN = ("system", "nodes", "scale", "seconds", "exchange_share", "million_edges_per_second", "paper")
SCALE, EDGE_FACTOR = 21, 16
NODES = (1, 4, 16, 64, 256, 1024, 4096)
NETWORK = Link(2e-6, 10e9)
_GPUS = 3


def systems(scaling, sweep):
    """Return the rates of the elements of a node and its network, for three kinds of nodes."""
    rank, kinds = simulate.measured(scaling["rows"], "pagerank"), simulate.kinds_of(sweep["rows"], "pagerank")
    of_ranks = NETWORK._replace(overhead=simulate.link_of(scaling, "pagerank", rank).overhead)
    of_gpus = NETWORK._replace(overhead=simulate.bus_of(sweep["rows"], "pagerank").overhead)
    return {
        "one thread of this machine": ([rank], of_ranks),
        f"CPU of the {sweep['gpu']} machine": ([kinds["cpu"]], of_gpus),
        f"three {sweep['gpu']}": ([kinds["cuda"]] * _GPUS, of_gpus),
    }


def rows(documents, options):  # noqa: ARG001 - same parameters as other figures
    """Return predicted rows from the scaling record and the sweep, and the measured weak scaling."""
    scaling, sweep = documents
    found = []
    for system, (rates, link) in systems(scaling, sweep).items():
        for nodes in NODES:
            scale = SCALE + nodes.bit_length() - 1
            classes = simulation.rmat_classes(scale, EDGE_FACTOR)
            parts = simulation.expected(classes, "round-robin", nodes, [1.0] * len(rates))
            time = simulation.predict(parts, rates, link, supersteps=1)
            found.append(_row(system, nodes, scale, time.seconds, time.exchange / time.seconds))
    ranks = [row for row in scaling["rows"] if (row["kind"], row["task"]) == ("weak", "pagerank")]
    return found + [
        {
            **_row("measured ranks", row["ranks"], None, row["median_seconds"]),
            "million_edges_per_second": _edges(row["graph"]) / 1e6 / row["median_seconds"],
        }
        for row in ranks
        if row["on"] == "cpu:1"
    ]


def _edges(graph):
    """Return the drawn edges of a graph such as "rmat:18,edge_factor=16", as S13 counts them."""
    scale, _, factor = graph.removeprefix("rmat:").partition(",edge_factor=")
    return int(factor) << int(scale)


def _row(system, nodes, scale, seconds, exchange_share=None):
    edges = 0 if scale is None else EDGE_FACTOR << scale
    return {
        "system": system,
        "nodes": nodes,
        "scale": scale,
        "seconds": seconds,
        "exchange_share": exchange_share,
        "million_edges_per_second": edges / 1e6 / seconds,
        "paper": 87.04 if nodes == 256 and system.startswith("three") else None,
    }


def here(rows):
    at = {row["system"]: row for row in rows if row["nodes"] == 256}
    clauses = [
        f"256 nodes are predicted to reach {row['million_edges_per_second'] / 1e3:.3g} billion edges/s with "
        f"{system}, and exchange for {row['exchange_share']:.0%} of the time"
        for system, row in at.items()
    ]
    cpu, gpu = (next(row["seconds"] for name, row in at.items() if word in name) for word in ("CPU", "three"))
    measured = {row["nodes"]: row for row in rows if row["system"] == "measured ranks"}
    most = max(measured)
    rates = [measured[nodes]["million_edges_per_second"] for nodes in (1, most)]
    return "; ".join(
        [
            *clauses,
            f"the three GPUs are {cpu / gpu:.1f} times as fast as the CPU",
            f"measured: {rates[0]:.0f} million edges/s on one rank, {rates[1]:.0f} on {most} ranks",
        ]
    )


def panels(rows):
    scaled = [{**row, "billions": row["million_edges_per_second"] / 1e3} for row in rows]
    curves = series_of(scaled, "system", "nodes", "billions")
    curves["the paper"] = ([256], [0.08704])
    dashed = tuple(name for name in curves if name not in ("the paper", "measured ranks"))
    return [Panel("weak scaling", "nodes", "billion edges/s", curves, dashed=dashed, log=True, wide=True)]


def main():
    options = harness.recording(g16_runs.parser_of(__doc__.splitlines()[0]))
    options.on = "cpu:1"
    documents = simulate.recorded("scaling.json"), simulate.recorded("figures/runs.json")
    g16_runs.publish_single(Path(__file__).stem, documents, options)


if __name__ == "__main__":
    main()
