"""Question: how long would runs on 16 to 4,096 machines take, from rates and links that were measured here.

The simulation is checked first. Rates are from the runs of one rank in `results/scaling.json`, and the
overhead of a superstep is from those of two ranks. These predict three and four ranks. Threads that share a
core are slower in proportion. Runs of a CPU with one GPU predict a CPU with two GPUs, in
`results/figures/runs.json`.

Then each algorithm is predicted on more machines, for a real graph or for the degrees of an R-MAT graph.
The machines have the element of the scaling record, or others: `--rates 2e9 60e9` gives the edges that each
element processes in a second, and `--elements cpu:64,cuda:0` takes the rates of Evener's cost model.
`--latency` and `--bandwidth` give the network.

`--gpus` predicts the runs of `results/several_gpus*.json` instead, by the model of `gpu_simulation.py`. Rates
are those of one GPU, and the link's. The supersteps and bytes are counted in runs on this machine's CPU.

    python benchmarks/simulate.py --gpus
    python benchmarks/simulate.py --graph rmat:30 --policy lpt --machines 16 64 256 1024 4096
    python benchmarks/simulate.py --graph web-NotreDame.txt.gz --elements cpu:64,cuda:0 --latency 2e-6
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np

import evener as ev
import gpu_simulation
import harness
import simulation
from evener.elements.description import describe_elements
from evener.graph.generators.models import EDGE_FACTOR
from evener.planning.planner import cost_model
from evener.spec.registry import find
from on_ranks import TASKS
from simulation import Link, Parts, Rates

# A current network: 200 Gbit/s, and the latency of MPI on it.
NETWORK = Link(2e-6, 25e9)
_RMAT = re.compile(r"rmat:(\d+)(?:,edge_factor=(\d+))?$")


def main():
    options = _options()
    if options.gpus:
        _simulate_gpus(options)
        return
    of_ranks = recorded("scaling.json", options.scaling)
    of_gpus = recorded("figures/runs.json")
    checks = [
        *(check_ranks(of_ranks) if of_ranks else []),
        *(check_gpus(of_gpus["rows"]) if of_gpus else []),
    ]
    if checks:
        _show_checks(checks)
    rows = [row for task in options.tasks for row in _predicted(task, of_ranks, options)]
    _show(rows, options)
    if not options.no_record:
        harness.record("simulate", question=__doc__.splitlines()[0], rows=rows, checks=checks)


def recorded(name, given=None):
    """Return a record of `results`, or a given file; None if there is none."""
    path = Path(given) if given else harness.RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


# ---- several GPUs ------------------------------------------------------------------------------------


def _simulate_gpus(options):
    """Print and record predicted and measured seconds of runs on several GPUs."""
    documents = [json.loads(Path(path).read_text(encoding="utf-8")) for path in options.gpus]
    document, named = documents[0], {}
    for row in (row for one in documents for row in one["rows"]):
        named.setdefault((row["task"], row["graph"], row["gpus"]), row)  # the first record counts
    rows = list(named.values())
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    numbers = sorted({row["gpus"] for row in rows} | {2, 4})
    counted = {gpus: gpu_simulation.count(options.counted, gpus, tasks) for gpus in numbers}
    found = list(gpu_simulation.check(rows, document["links"], counted, tasks))
    cells = [
        (f"{row['task']}, {row['graph']}, {row['gpus']} GPUs",
         harness.duration(row["measured_seconds"]) if row["measured_seconds"] else "",
         harness.duration(row["predicted_seconds"]),
         f"{row['error']:+.0%}" if row["measured_seconds"] and not row["fitted"] else "",
         *(harness.duration(row[name]) for name in gpu_simulation.Prediction._fields))
        for row in found
    ]  # fmt: skip
    heads = ["", "measured", "predicted", "error", *gpu_simulation.Prediction._fields]
    harness.show("Predicted runs on several GPUs", heads, cells)
    if not options.no_record:
        of = {
            "measured": [harness.head_of(one) for one in documents],
            "links": document["links"],
            "counted on": options.counted,
            "counts": {
                gpus: {task: one._asdict() for task, one in own.items()} for gpus, own in counted.items()
            },
        }
        harness.record("simulate_gpus", question=gpu_simulation.__doc__.splitlines()[0], rows=found, **of)


# ---- the check --------------------------------------------------------------------------------------


def measured(rows, task):
    """Return the rates of a CPU with one thread, from the rows of one rank."""
    ones = _of_ranks(rows, task, 1)
    edge, vertex = simulation.fit(
        [[_sizes(row)[0]["edges"], _sizes(row)[0]["connected"]] for row in ones],
        [row["median_seconds"] for row in ones],
    )
    return Rates(edge, vertex)


def link_of(document, task, rates):
    """Return the link between ranks: the probed latency and bandwidth, and the overhead of a superstep."""
    link = _routes(document)
    twos = _of_ranks(document["rows"], task, 2)
    rest = [row["median_seconds"] - _predict(row, rates, link, document).seconds for row in twos]
    steps = [row["supersteps"] for row in twos]
    return link._replace(overhead=max(0.0, sum(rest) / sum(steps)) if twos else 0.0)


def _of_ranks(rows, task, ranks):
    return [row for row in rows if (row["task"], row["on"], row["ranks"]) == (task, "cpu:1", ranks)]


def check_ranks(document):
    """Predict every row of a scaling record; rows of one and two ranks gave the rates and the overhead."""
    for task in dict.fromkeys(row["task"] for row in document["rows"]):
        rates = measured(document["rows"], task)
        link = link_of(document, task, rates)
        for row in document["rows"]:
            if (row["task"], row["on"]) == (task, "cpu:1"):
                found = _predict(row, rates, link, document)
                yield _check(row, found, f"{row['ranks']} ranks, {row['kind']}", fitted=row["ranks"] < 3)


def check_gpus(rows):
    """Predict a CPU with two GPUs from the runs of the CPU alone, and of the CPU with one GPU."""
    for task in ("pagerank", "bfs"):
        kinds, own = kinds_of(rows, task), _of_sweep(rows, task)
        link = bus_of(rows, task)
        for row in own:
            if row["on"] in ("cpu,cuda:0", "cpu,cuda:0,cuda:1"):
                found = _on_one_machine(task, row, kinds, link)
                yield _check(row, found, f"{row['on']}, α {row['alpha']}", fitted=row["on"] == "cpu,cuda:0")


def kinds_of(rows, task):
    """Return the rates of the CPU and of a GPU of a sweep, from runs with at most one GPU."""
    points = {"cpu": [], "cuda": []}
    for row in _of_sweep(rows, task):
        if row["on"] in ("cpu", "cuda:0", "cpu,cuda:0"):
            for element in row["elements"]:
                points[element["kind"]].append((element, row["busy"][element["element"]]["compute"]))
    return {
        kind: Rates(*simulation.fit([_columns(one) for one, _ in found], [seconds for _, seconds in found]))
        for kind, found in points.items()
    }


def _of_sweep(rows, task):
    """Return the runs of a task on the main graph, divided at random or not divided."""
    return [
        row
        for row in rows
        if (row["task"], row["graph"]) == (task, "rmat:23") and row["policy"] in (None, "random")
    ]


def _columns(element):
    return [element["edges"] - element["mapped_edges"], element["vertices"], element["mapped_edges"]]


def bus_of(rows, task):
    """Return the bus of a sweep: its speed, and the overhead of a superstep with one GPU."""
    kinds, own = kinds_of(rows, task), [row for row in _of_sweep(rows, task) if row["on"] == "cpu,cuda:0"]
    bare = Link(0.0, 4 * own[0]["values_per_second"])
    rest = [row["median_seconds"] - _on_one_machine(task, row, kinds, bare).seconds for row in own]
    return bare._replace(overhead=max(0.0, sum(rest) / sum(row["supersteps"] for row in own)))


def _on_one_machine(task, row, kinds, link):
    """Predict the elements of one machine as separate machines."""
    elements = row["elements"]
    columns = {
        name: np.array([one[name] for one in elements], float)
        for name in ("edges", "vertices", "mapped_edges", "mirrors")
    }
    everywhere = np.arange(len(elements))
    mirrors = columns["mirrors"]
    remote = (mirrors.sum() - mirrors) / max(1, len(elements) - 1)
    parts = Parts(
        everywhere,
        everywhere,
        columns["edges"],
        columns["vertices"],
        columns["mapped_edges"],
        mirrors,
        remote,
    )
    traffic = find(task).traffic
    return simulation.predict(
        parts,
        [kinds[one["kind"]] for one in elements],
        link,
        supersteps=row["supersteps"],
        pushed=traffic.pushed,
        pulled=traffic.pulled,
    )


def _check(row, found, what, *, fitted):
    return {
        "task": row["task"],
        "graph": row["graph"],
        "what": what,
        "measured_seconds": row["median_seconds"],
        "predicted_seconds": found.seconds,
        "error": found.seconds / row["median_seconds"] - 1,
        "fitted": fitted,
    }


def _sizes(row):
    return [element["sizes"] for element in row["elements"]]


def _predict(row, rates, link, document):
    sizes = {name: np.array([one[name] for one in _sizes(row)], float) for name in _sizes(row)[0]}
    several = np.arange(row["ranks"])
    parts = Parts(
        several, np.zeros(row["ranks"], int), sizes["edges"], sizes["connected"], np.zeros(row["ranks"]),
        sizes["mirrors"], sizes["remote_mirrors"],
    )  # fmt: skip
    traffic = find(row["task"]).traffic
    return simulation.predict(
        parts,
        [rates],
        link,
        supersteps=row["supersteps"],
        pushed=traffic.pushed,
        pulled=traffic.pulled,
        slowdown=max(1.0, row["ranks"] / document["cores"]),
    )


def _routes(document):
    routes = document["routes"]
    latency = harness.median([route["latency"] for route in routes])
    return Link(latency, harness.median([route["bandwidth"] for route in routes]))


def _show_checks(checks):
    cells = [
        (f"{one['task']}, {one['what']}, {one['graph']}", harness.duration(one["measured_seconds"]),
         harness.duration(one["predicted_seconds"]), f"{one['error']:+.0%}", "yes" if one["fitted"] else "")
        for one in checks
    ]  # fmt: skip
    harness.show(
        "The simulation and what was measured", ["", "measured", "predicted", "error", "fitted"], cells
    )
    apart = [abs(one["error"]) for one in checks if not one["fitted"]]
    if apart:
        print(f"{len(apart)} points that were not fitted: median error {harness.median(apart):.0%}")


# ---- predictions ------------------------------------------------------------------------------------


def _predicted(task, document, options):
    """Yield a row for each number of machines."""
    spec, rates, link, steps = find(task), *_elements(task, document, options)
    speeds = [1 / (one.edge + one.vertex / EDGE_FACTOR) for one in rates]
    graph = _RMAT.fullmatch(options.graph)
    real = None if graph else ev.read(options.graph)
    for machines in options.machines:
        if real is None:
            classes = simulation.rmat_classes(int(graph[1]), int(graph[2] or EDGE_FACTOR))
            parts = simulation.expected(classes, options.policy, machines, speeds)
        else:
            parts = simulation.counted(real, spec.directions, options.policy, machines, speeds)
        found = simulation.predict(
            parts, rates, link, supersteps=steps, pushed=spec.traffic.pushed, pulled=spec.traffic.pulled
        )
        yield {
            "task": task,
            "graph": Path(options.graph).name,
            "policy": options.policy,
            "machines": machines,
            "seconds": found.seconds,
            "exchange_share": found.exchange / found.seconds,
            "edges_per_second": float(parts.edges.sum()) / found.seconds,
            "imbalance": parts.imbalance,
            "rates": [one._asdict() for one in rates],
            "link": link._asdict(),
        }


def _elements(task, document, options):
    """Return the rates of the elements of a machine, its network, and the supersteps of a pass."""
    network = Link(options.latency, options.bandwidth)
    steps, overhead = 1.0, 0.0
    if document and any(row["task"] == task for row in document["rows"]):
        of_one = measured(document["rows"], task)
        overhead = link_of(document, task, of_one).overhead
        steps = max(row["supersteps"] for row in document["rows"] if row["task"] == task)
    if options.rates:
        rates = [Rates(1 / rate) for rate in options.rates]
    elif options.elements:
        described = describe_elements(options.elements)
        model = cost_model(find(task), described)
        of_each = [(model.rates[one.name].coefficients, one.threads or 1) for one in described]
        rates = [Rates(own.edge / among, own.vertex / among, own.host_edge) for own, among in of_each]
        overhead, steps = max(own.superstep for own, _ in of_each), model.supersteps
    elif document is None:
        raise SystemExit("there is no results/scaling.json; give --rates, or run benchmarks/scaling.py")
    else:
        rates = [of_one]
    return rates, network._replace(overhead=overhead), steps


def _show(rows, options):
    cells = [
        (f"{row['task']}, {row['machines']:,} machines", harness.duration(row["seconds"]),
         f"{row['edges_per_second'] / 1e9:.3g}", f"{row['exchange_share']:.0%}", f"{row['imbalance']:.1%}")
        for row in rows
    ]  # fmt: skip
    title = f"{options.graph} by {options.policy}, predicted"
    harness.show(title, ["", "a pass", "billion edges/s", "exchanging", "imbalance of edges"], cells)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", default="rmat:30", help="a file, or rmat:SCALE[,edge_factor=N]")
    parser.add_argument("--policy", default="lpt")
    parser.add_argument("--machines", type=int, nargs="+", default=[16, 64, 256, 1024, 4096])
    parser.add_argument("--tasks", nargs="+", default=["pagerank", "bfs"], choices=TASKS)
    parser.add_argument("--scaling", metavar="FILE", help="default: results/scaling.json")
    parser.add_argument("--rates", type=float, nargs="+", metavar="EDGES", help="a second, of each element")
    parser.add_argument("--elements", metavar="NAMES", help="of a machine, for rates of the cost model")
    measured = [str(harness.RESULTS / name) for name in ("several_gpus.json", "several_gpus_4.json")]
    parser.add_argument("--gpus", metavar="FILE", nargs="*", help=f"default: {' '.join(measured)}")
    parser.add_argument("--counted", default="rmat:16", help="the graph on whose runs bytes are counted")
    parser.add_argument("--latency", type=float, default=NETWORK.latency, metavar="SECONDS")
    parser.add_argument("--bandwidth", type=float, default=NETWORK.bandwidth, metavar="BYTES")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()
    options.gpus = measured if options.gpus == [] else options.gpus
    return options


if __name__ == "__main__":
    main()
