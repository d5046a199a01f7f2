"""Benchmark: time verified runs of an algorithm on one placement."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.cli import runs
from evener.cli.options import with_vertices
from evener.cli.run_output import timed_json
from evener.errors import ArgumentError
from evener.spec.run import begin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.cli.supervisor import Command
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.spec.algorithm import AlgorithmSpec
    from evener.spec.run_options import BasicOptions

__all__ = ["repeat"]

# Seed of the sources of a benchmark, equal on every machine.
_SEED = 1


def repeat(
    job: Command,
    spec: AlgorithmSpec,
    given_graph: Graph | PartitionedGraph,
    arguments: Mapping[str, Any],
    place: Mapping[str, Any],
    *,
    name: str,
    repeats: int,
) -> tuple[dict[str, Any], bool]:
    """Time `repeats` verified runs on one placement of the graph `name`, after one untimed run.

    Returns
    -------
    content : dict
        What `timed_json` returns, of the run with the median time, with all runs.
    drawn : bool
        Whether each run has another source.
    """
    job.stage("partitioning")
    run = begin(spec, given_graph, cast("BasicOptions", place))
    partitioned, graph = run.place(), run.graph
    given = with_vertices(spec, graph, arguments)
    each = _arguments_of_runs(spec, graph, given, repeats)
    timed = []
    for number, own in enumerate([each[0], *each]):
        result = runs.compute(job, spec, partitioned, own)
        if run.plan is not None:
            result.prediction = run.plan.predict(partitioned, result.passes)
        runs.check_answer(job, result)
        if number:
            timed.append(timed_json(name, result, verified=True))
        del result  # the next run reuses its arrays
    median = sorted(timed, key=itemgetter("seconds"))[(repeats - 1) // 2]
    return {**median, "runs": [run for one in timed for run in one["runs"]]}, each[0].keys() != given.keys()


def _arguments_of_runs(
    spec: AlgorithmSpec, graph: Graph, arguments: dict[str, Any], repeats: int
) -> list[dict[str, Any]]:
    """Return the arguments of each run; if no source is given, each run gets another vertex with edges."""
    own = spec.source_option
    if own is None or own in arguments or "k" in arguments:
        return [arguments] * repeats
    able = np.flatnonzero(graph.out_degree())
    if len(able) == 0:
        msg = f"nothing to time: expected a graph with edges, found {graph.n:,} vertices and no edge"
        raise ArgumentError(msg)
    drawn = graph.ids[np.random.default_rng(_SEED).choice(able, repeats)].tolist()
    several = any(option.name == own and option.type == "vertices" for option in spec.options)
    return [{**arguments, own: [source] if several else source} for source in drawn]
