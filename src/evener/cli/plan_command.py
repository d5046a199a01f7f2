"""The command plan, and the output of plans and of partitions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evener.cli.agreement import check_agreement, refuse_ranks
from evener.cli.options import (
    PLACEMENT_OPTIONS,
    READ_OPTIONS,
    GraphName,
    Json,
    placement_options,
    read_options,
    refuse_auto,
    takes,
)
from evener.cli.output import say, say_json
from evener.cli.supervisor import Command
from evener.errors import ArgumentError
from evener.partition.policy import check_policy
from evener.partition.statistics import side_of_alpha, statistics_of_one_part
from evener.results.report.units import columns, or_dash, seconds_text, share_text
from evener.spec import registry
from evener.system.memory import format_bytes
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.partition.statistics import Statistics
    from evener.planning.plan import Plan
    from evener.spec.comparison import PolicyComparison

__all__ = ["COMMANDS", "plan", "show_statistics"]

# First columns of a table of partitions, placed or planned.
_PARTITION_HEADS = ("element", "edges", "share", "vertices", "mirrors", "memory")

# Elements whose sizes are printed one by one.
_SIZES_SHOWN = 4


@takes(PLACEMENT_OPTIONS, READ_OPTIONS)
def plan(
    context: typer.Context,
    graph: GraphName,
    *,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="ALGORITHM", help="Choose the placement for this algorithm and predict its time."
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Compare all policies for the algorithm of --for; name GPUs as cuda:N."
        ),
    ] = False,
    machines: Annotated[
        int, typer.Option(min=1, help="With --compare: the number of machines with the elements of --on.")
    ] = 1,
    as_json: Json = False,
    **given: object,
) -> None:
    """Print the edges, vertices, mirrors and bytes of each partition, and with --for the predicted time.

    The algorithm does not run. With --for, a plan chooses the elements, policy and alpha that are not given,
    for the least predicted time. Without --for, the output ends with alpha and beta. Beta
    is the share of the edges that cross partitions. After aggregation, each mirror is one message.

    For one CPU element, the command does not generate or read edges if a specification or the heading of a
    file states the sizes. Parquet files of Evener and the comments of SNAP state them.

    With --compare, the command prints a line for each policy. The elements of --on need not exist.
    """
    place = placement_options(given)
    if compare:
        refuse_ranks("plan --compare")
        _compare(context, graph, algorithm, machines, read_options(given), place, as_json=as_json)
        return
    if machines > 1:
        msg = f"--machines: expected 1 without --compare, found {machines}; add --compare"
        raise ArgumentError(msg)
    if algorithm is not None:
        registry.find(algorithm)
        refuse_ranks("plan --for")
    else:
        refuse_auto(place, "add --for ALGORITHM")
    from evener.cli import runs

    job = context.ensure_object(Command)
    check_agreement(job.words, graph)
    place = runs.with_elements(place)
    if _show_heading(graph, algorithm, read_options(given), place, as_json=as_json):
        return
    from evener.partition.build import partition
    from evener.spec.plan import plan as plan_for

    with job.shown():
        in_parts = "both" if algorithm is None else None
        opened = runs.open_graph(job, graph, read_options(given), in_parts=in_parts)
        if algorithm is not None:
            job.stage("planning")
            chosen = plan_for(opened, algorithm, **place)
        else:
            job.stage("partitioning")
            partitioned = partition(opened, **place)
            statistics = partitioned.statistics
    if algorithm is not None:
        _show_plan(opened.summary, chosen, exact=True, named="on" in place, as_json=as_json)
    else:
        show_statistics(opened.summary, partitioned.policy, statistics, as_json=as_json, exact=True)


def _compare(
    context: typer.Context,
    graph: str,
    algorithm: str | None,
    machines: int,
    how: dict[str, Any],
    place: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Print the sizes and the predicted time of each policy."""
    if algorithm is None or "on" not in place:
        msg = "--compare: expected --for ALGORITHM and --on ELEMENTS too; give both"
        raise ArgumentError(msg)
    from evener.cli import runs
    from evener.spec.comparison import compare_policies

    policies = [place.pop("policy")] if "policy" in place else None
    registry.find(algorithm)
    job = context.ensure_object(Command)
    with job.shown():
        opened = runs.open_graph(job, graph, how)
        job.stage("comparing policies")
        compared = compare_policies(opened, algorithm, machines=machines, policies=policies, **place)
    if as_json:
        say_json({"algorithm": algorithm, "policies": [asdict(one) for one in compared]})
    else:
        say(f"{opened.summary}\n\n{_compared(compared)}")


def _show_heading(
    graph: str, algorithm: str | None, how: dict[str, Any], place: dict[str, Any], *, as_json: bool
) -> bool:
    """Print the plan for one CPU element from the heading of a graph; return whether that is possible."""
    element = _only_element(place)
    if element is None or how.keys() - {"format"}:
        return False
    from evener.graph.formats import read_heading

    heading = read_heading(graph, **how)
    if heading is None:
        return False
    if algorithm is not None:
        from evener.spec.plan import plan_on_cpu

        chosen = plan_on_cpu(heading, algorithm, element, policy=place.get("policy", "auto"))
        _show_plan(heading.summary, chosen, exact=heading.exact, named="on" in place, as_json=as_json)
        return True
    policy = place.get("policy", "random")
    check_policy(policy)
    statistics = statistics_of_one_part(
        element, heading.n, heading.m, directions=1 + heading.directed, edge_bytes=4 + heading.weight_bytes
    )
    show_statistics(heading.summary, policy, statistics, as_json=as_json, exact=heading.exact)
    return True


def _only_element(place: dict[str, Any]) -> Element | None:
    """Return the CPU element of the only possible placement; None if there are several placements."""
    from evener.elements import parse_elements
    from evener.elements.cuda.discovery import gpus

    if place.keys() & {"alpha", "gpu_memory"} or current_world().size > 1 or ("on" not in place and gpus()):
        return None
    elements: list[Element] = place.get("on") or parse_elements("cpu")
    return elements[0] if [one.kind for one in elements] == ["cpu"] else None


def _show_plan(summary: str, plan: Plan, *, exact: bool, named: bool, as_json: bool) -> None:
    """Print a plan. Sizes that are not `exact` are upper bounds. `named`: whether the user named elements."""
    from evener.elements.cuda.discovery import missing

    if as_json:
        content = {name: value for name, value in asdict(plan).items() if name != "model"}
        say_json({**content, "exact": exact})
        return
    say(f"{summary}\n\n{_planned(plan)}")
    if not named and missing():
        say(f"No GPU can be used: {missing()}.")


def _planned(plan: Plan) -> str:
    """Return a plan as text: the share and memory of each element, the prediction, and the alternatives."""
    total = sum(share.sizes.edges for share in plan.shares)
    rows = [
        (
            share.element,
            share.sizes.edges,
            share_text(share.sizes.edges / total if total else 0.0),
            share.sizes.vertices,
            share.sizes.mirrors,
            format_bytes(nbytes),
            share.host_edges if share.kind != "cpu" else "-",
            seconds_text(element.compute_seconds),
            or_dash(element.exchange_seconds, seconds_text),
        )
        for share, nbytes, element in zip(plan.shares, plan.nbytes, plan.prediction.elements, strict=True)
    ]
    placed = f"{plan.algorithm} on {', '.join(plan.on)}"
    if len(plan.shares) > 1:
        placed += f"; policy {plan.policy}"
    if plan.alpha is not None:
        side = side_of_alpha([share.element for share in plan.shares])
        placed += f", alpha {plan.cpu_share:.2f} (share of the edges {side})"
    predicted = plan.prediction
    least, most = seconds_text(predicted.least_seconds), seconds_text(predicted.most_seconds)
    heads = (*_PARTITION_HEADS, "host edges", "compute", "exchange")
    lines = [placed, "", columns(heads, rows, left=1), ""]
    lines += [f"Memory: {format_bytes(sum(plan.nbytes))}"]
    each = plan.unit if plan.passes == 1 else f"{plan.passes:g} times {plan.unit}"
    lines += [
        f"Predicted: {seconds_text(predicted.seconds)} for {each} ({least} to {most}), {predicted.origin}"
    ]
    over = [
        f"{ratio:.2f} over the {name} alone"
        for name, ratio in (("CPU", predicted.speedup_over_cpu), ("GPU", predicted.speedup_over_gpu))
        if ratio is not None and len(plan.alternatives) > 1
    ]
    lines += [f"Speed-up: {', '.join(over)}"] if over else []
    lines.append("")
    for kind, seconds in plan.alternatives.items():
        split = kind == "CPU alone" and len(plan.on) > 1 and all(name.startswith("cpu") for name in plan.on)
        lines.append(f"{', '.join(plan.on) if split else kind}: {seconds_text(seconds)}")
    if plan.faster_but_unsafe is not None:
        lines.append(
            f"{plan.faster_but_unsafe} is not chosen: the gain is below the error of the prediction."
        )
    lines += [f"{kind}: does not fit; {why.partition(';')[0]}" for kind, why in plan.infeasible.items()]
    return "\n".join(lines)


def show_statistics(
    summary: str, policy: str, statistics: Statistics, *, as_json: bool, **more: object
) -> None:
    """Print the partitions of a graph with alpha, both betas and the bytes. JSON has the facts `more` too."""
    if as_json:
        facts = {"policy": policy, **more, **asdict(statistics), "bytes": statistics.nbytes}
        unequal = {name: getattr(statistics, name) for name in ("edge_imbalance", "vertex_imbalance")}
        say_json({**facts, **unequal})
        return
    rows = [
        (
            one.element,
            one.edges,
            share_text(one.edge_share),
            one.vertices,
            one.mirrors,
            format_bytes(one.own_bytes),
            or_dash(one.host_bytes, format_bytes),
            one.boundary_edges,
        )
        for one in statistics.partitions
    ]
    say(f"{summary}; policy {policy}\n")
    say(columns((*_PARTITION_HEADS, "host memory", "crossing edges"), rows, left=1))
    say(f"\nalpha {statistics.alpha:.3f}: the share of the edges {side_of_alpha([row[0] for row in rows])}")
    say(f"beta  {statistics.beta:.3f} before aggregation, {statistics.beta_aggregated:.3f} after it")
    say(f"imbalance {statistics.edge_imbalance:.1%} edges, {statistics.vertex_imbalance:.1%} vertices")
    say(f"{format_bytes(statistics.nbytes)} in total, without the state of a run")


def _compared(policies: Sequence[PolicyComparison]) -> str:
    """Return a table with a row for each policy, and the policy with the least predicted time."""
    heads = (
        "policy", "partitioning", "edges of an element", "imbalance", "vertices of an element", "imbalance",
        "beta", "aggregated", "predicted",
    )  # fmt: skip
    rows = [
        (
            one.policy,
            seconds_text(one.partitioning_seconds),
            _range(one.edges),
            f"{one.edge_imbalance:.1%}",
            _range(one.vertices),
            f"{one.vertex_imbalance:.1%}",
            f"{one.beta:.3f}",
            f"{one.beta_aggregated:.3f}",
            seconds_text(one.predicted_seconds),
        )
        for one in policies
    ]
    table = columns(heads, rows, left=1)
    if len(rows) == 1:
        return table
    if len({row[-1] for row in rows}) == 1:
        return f"{table}\n\nAll policies have the same predicted time."
    best = min(policies, key=lambda one: one.predicted_seconds)
    return f"{table}\n\nThe least predicted time: {best.policy}."


def _range(sizes: Sequence[int]) -> str:
    """Return the sizes of a few elements, or the range of those of many."""
    if len(sizes) <= _SIZES_SHOWN:
        return " ".join(f"{size:,}" for size in sizes)
    return f"{min(sizes):,} to {max(sizes):,}"


COMMANDS = (plan,)
