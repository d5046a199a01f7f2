"""Output of commands: aligned tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import printable
from evener.partition.statistics import side_of_alpha
from evener.results.report.units import seconds_text, share_text
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evener.elements.cuda.discovery import GpuDescription, Versions
    from evener.partition.statistics import Statistics
    from evener.planning.plan import Plan
    from evener.planning.ratio import RatioFit
    from evener.spec.comparison import PolicyComparison

__all__ = [
    "as_json",
    "cell",
    "columns",
    "compared",
    "gpus",
    "partitions",
    "partitions_json",
    "planned",
    "ratio_lines",
    "seconds_text",
]

# First columns of a table of partitions, placed or planned.
_PARTITION_HEADS = ("element", "edges", "share", "vertices", "mirrors", "memory")

# Elements whose sizes are printed one by one.
_SIZES_SHOWN = 4


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 0) -> str:
    """Return an aligned table: the first `left` columns to the left, the others to the right."""
    cells = [list(heads), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    return "\n".join(
        "  ".join(
            f"{text:<{width}}" if place < left else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def as_json(content: dict[str, Any]) -> str:
    """Return standard JSON; infinity and NaN become null."""
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def gpus(found: Sequence[GpuDescription], known: Versions) -> str:
    """Return a table of the GPUs, the problems of unusable GPUs, and the versions of driver and CuPy."""
    heads = ("element", "name", "free", "memory", "capability", "multiprocessors", "power limit")
    rows = [
        (
            gpu.element,
            gpu.name or "-",
            *("-" if size is None else format_bytes(size) for size in (gpu.free_bytes, gpu.total_bytes)),
            gpu.compute_capability or "-",
            gpu.multiprocessors or "-",
            "-" if gpu.power_limit_watts is None else f"{gpu.power_limit_watts:.0f} W",
        )
        for gpu in found
    ]
    driver = "The driver" if known.driver is None else f"Driver {known.driver}"
    others = f"CuPy {known.cupy} was built with {known.cuda} and compiles with {known.compiler}"
    wrong = [f"{gpu.element} cannot be used: {gpu.problem}." for gpu in found if gpu.problem]
    versions = f"{driver} supports CUDA {known.driver_cuda}; {others}."
    return "\n".join([columns(heads, rows, left=2), "", *wrong, versions])


def partitions(statistics: Statistics) -> str:
    """Return a table of the partitions with alpha, both betas and the bytes."""
    rows = [
        (
            one.element,
            one.edges,
            share_text(one.edge_share),
            one.vertices,
            one.mirrors,
            format_bytes(one.own_bytes),
            format_bytes(one.host_bytes) if one.host_bytes else "-",
            one.boundary_edges,
        )
        for one in statistics.partitions
    ]
    return "\n".join(
        [
            columns((*_PARTITION_HEADS, "host memory", "crossing edges"), rows, left=1),
            "",
            f"alpha {statistics.alpha:.3f}: the share of the edges {side_of_alpha([row[0] for row in rows])}",
            f"beta  {statistics.beta:.3f} before aggregation, {statistics.beta_aggregated:.3f} after it",
            f"imbalance {statistics.edge_imbalance:.1%} edges, {statistics.vertex_imbalance:.1%} vertices",
            f"{format_bytes(statistics.nbytes)} in total, without the state of a run",
        ]
    )


def partitions_json(policy: str, statistics: Statistics, **more: object) -> str:
    """Return the facts of `partitions` for programs."""
    facts = {"policy": policy, **more, **asdict(statistics), "bytes": statistics.nbytes}
    unequal = {"edge_imbalance": statistics.edge_imbalance, "vertex_imbalance": statistics.vertex_imbalance}
    return as_json({**facts, **unequal})


def compared(policies: Sequence[PolicyComparison]) -> str:
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


def ratio_lines(fit: RatioFit) -> list[str]:
    """Return the fit of r as text, a line for each range of edges."""
    ends = [f"{end:,.0f}" for end in fit.breaks]
    first = f" up to {ends[0]} edges" if ends else ""
    slope = f"{'-' if fit.slope < 0 else '+'} {abs(fit.slope) * 1e6:.3g} for each million edges"
    lines = [f"r = {fit.intercept:.3g} {slope}{first}"]
    for level, begin, end in zip(fit.levels, ends, [*ends[1:], None], strict=True):
        lines.append(f"r = {level:.3g} from {begin} edges{'' if end is None else f' to {end}'}")
    return lines


def _range(sizes: Sequence[int]) -> str:
    """Return the sizes of a few elements, or the range of those of many."""
    if len(sizes) <= _SIZES_SHOWN:
        return " ".join(f"{size:,}" for size in sizes)
    return f"{min(sizes):,} to {max(sizes):,}"


def planned(plan: Plan) -> str:
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
            seconds_text(element.exchange_seconds) if element.exchange_seconds else "-",
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


def cell(value: object) -> str:
    """Return a value in a table or a sentence."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
