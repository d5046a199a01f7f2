"""Output of `evener plan`, and the plan for one CPU element, which needs no edges."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evener.cli import render
from evener.cli.output import say
from evener.elements.cuda.discovery import gpus, missing
from evener.system.world import current_world

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.partition.statistics import Statistics
    from evener.planning.plan import Plan

__all__ = ["show_plan", "show_plan_of_heading", "show_statistics"]


def show_plan(summary: str, plan: Plan, *, exact: bool, named: bool, as_json: bool) -> None:
    """Print a plan.

    Parameters
    ----------
    summary : str
        The graph.
    plan : Plan
    exact : bool
        False if the sizes are upper bounds.
    named : bool
        Whether the user named elements.
    as_json : bool
    """
    if as_json:
        content = {name: value for name, value in asdict(plan).items() if name != "model"}
        say(render.as_json({**content, "exact": exact}))
        return
    say(summary)
    say()
    say(render.planned(plan))
    if not named and missing():
        say(f"No GPU can be used: {missing()}.")


def show_statistics(summary: str, policy: str, statistics: Statistics, *, exact: bool, as_json: bool) -> None:
    """Print the partitions of a graph. `exact` is false if sizes are upper bounds."""
    if as_json:
        say(render.partitions_json(policy, statistics, exact=exact))
        return
    say(f"{summary}; policy {policy}")
    say()
    say(render.partitions(statistics))


def show_plan_of_heading(
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
    summary = heading.summary
    if algorithm is not None:
        from evener.spec.plan import plan_on_cpu

        plan = plan_on_cpu(heading, algorithm, element, policy=place.get("policy", "auto"))
        show_plan(summary, plan, exact=heading.exact, named="on" in place, as_json=as_json)
        return True
    from evener.partition.policy import check_policy
    from evener.partition.statistics import statistics_of_one_part

    policy = place.get("policy", "random")
    check_policy(policy)
    statistics = statistics_of_one_part(
        element, heading.n, heading.m, directions=1 + heading.directed, edge_bytes=4 + heading.weight_bytes
    )
    show_statistics(summary, policy, statistics, exact=heading.exact, as_json=as_json)
    return True


def _only_element(place: dict[str, Any]) -> Element | None:
    """Return the CPU element of the only possible placement; None if there are several placements."""
    if place.keys() & {"alpha", "gpu_memory"} or current_world().size > 1 or ("on" not in place and gpus()):
        return None
    from evener.elements import parse_elements

    elements: list[Element] = place.get("on") or parse_elements("cpu")
    return elements[0] if [one.kind for one in elements] == ["cpu"] else None
