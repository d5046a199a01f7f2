"""Ratio: how much faster a GPU is than the CPU, and the share of the edges that follows (G16 §III.E, §IV.B).

The computation ratio r is the time of the CPU over the time of the GPU for the same edges. `evener profile
--paper` measures r for several numbers of edges and writes a fit to the cache folder:

- up to the first break, r is a line: ``intercept + slope * edges``;
- in each later range, r is constant.

Without a fit, r follows from the coefficients of the cost model.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from evener.elements.hardware import fingerprint, model_of
from evener.errors import DeviceOutOfMemory, FileError
from evener.partition.estimate import estimate_shares
from evener.system.cache import cache_folder
from evener.system.files import atomic_write
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evener.elements import Element
    from evener.elements.description import ElementDescription
    from evener.partition.estimate import GraphSizes
    from evener.planning.cost_model import CostModel

__all__ = [
    "RatioFit",
    "cpu_share",
    "edge_speeds",
    "file_of_ratio",
    "fit_ratio",
    "profiled_share",
    "stored_ratio",
    "write_ratio",
]


# Version of the file; change it with the meaning of a field.
VERSION = 1
# Parts of the range of edges in which r has a formula of its own.
_PARTS = 3


@dataclass(frozen=True, slots=True)
class RatioFit:
    """A piecewise fit of r against the edges of a workload.

    Attributes
    ----------
    model : str
        The second element of the measurement: the name of a GPU, or "cpu".
    intercept, slope : float
        r is ``intercept + slope * edges`` up to ``breaks[0]``; the slope is per edge.
    breaks : tuple of float
        Ends of the ranges, in edges. The last range has no end.
    levels : tuple of float
        r in each range after the first.

    Examples
    --------
    >>> paper = RatioFit("GTX 480", 9.3, 0.2e-6, (50e6, 125e6), (19.5, 23.7))  # G16 §IV.B
    >>> [round(paper.ratio(edges), 1) for edges in (10e6, 100e6, 300e6)]
    [11.3, 19.5, 23.7]
    """

    model: str
    intercept: float
    slope: float
    breaks: tuple[float, ...]
    levels: tuple[float, ...]

    def ratio(self, edges: float) -> float:
        """Return r for a workload of this many edges."""
        part = int(np.searchsorted(self.breaks, edges))
        return self.levels[part - 1] if part else self.intercept + self.slope * edges


def fit_ratio(model: str, edges: Sequence[float], ratios: Sequence[float]) -> RatioFit:
    """Fit r against the edges of workloads: a regression for the smallest, constants for the others.

    The ranges hold equal numbers of distinct workloads. There is at least one workload.
    """
    order = np.argsort(edges, kind="stable")
    at, measured = np.asarray(edges, float)[order], np.asarray(ratios, float)[order]
    distinct = np.unique(at)
    bounds = [part[-1] for part in np.array_split(distinct, min(_PARTS, len(distinct)))]
    part_of = np.searchsorted(bounds, at)
    first = part_of == 0
    slope, intercept = 0.0, float(measured[first].mean())
    if len(np.unique(at[first])) > 1:
        slope, intercept = (float(one) for one in np.polyfit(at[first], measured[first], 1))
    levels = tuple(float(measured[part_of == part].mean()) for part in range(1, len(bounds)))
    return RatioFit(model, intercept, slope, tuple(float(bound) for bound in bounds[:-1]), levels)


def cpu_share(r: float, least: float = 0.0, *, gpus: int = 1) -> float:
    """Return α = max(α_l, 1 / (r + 1)): the share of the edges on the CPU (G16 §III.E).

    `r` is the ratio of one GPU, and `gpus` the number of GPUs for each CPU. `least` is α_l: the smallest
    share with which the edges of the GPUs fit their memory.

    Examples
    --------
    >>> cpu_share(19), cpu_share(19, least=0.35)
    (0.05, 0.35)
    """
    return max(least, 1 / (1 + gpus * r))


def profiled_share(sizes: GraphSizes, elements: Sequence[Element], policy: str) -> float | None:
    """Return α for a CPU and GPUs from a measured r; None if r was not measured or no share fits."""
    gpus = [element for element in elements if element.kind != "cpu"]
    fit = stored_ratio(model_of(gpus[0])) if 0 < len(gpus) < len(elements) else None
    if fit is None:
        return None
    edges = sizes.degrees.edges / sizes.directions
    least = next((step / 100 for step in range(100) if _fits(sizes, elements, policy, step / 100)), None)
    # A line with a negative slope ends below 0.
    return None if least is None else cpu_share(max(fit.ratio(edges), 0.0), least, gpus=len(gpus))


def _fits(sizes: GraphSizes, elements: Sequence[Element], policy: str, alpha: float) -> bool:
    """Return whether all edges of the GPUs fit their memory."""
    try:
        shares, _ = estimate_shares(sizes, elements, policy, alpha)
    except DeviceOutOfMemory:
        return False
    return not any(share.host_edges for share in shares)


def edge_speeds(model: CostModel, elements: Sequence[Element | ElementDescription]) -> list[float]:
    """Return the edges that each element processes in a second by the cost model."""
    return [
        (one.threads if one.kind == "cpu" else 1) / model.rates[one.name].coefficients.edge
        for one in elements
    ]


def file_of_ratio() -> Path | None:
    """Return the path of the fit; None if the user has no cache directory."""
    cache = cache_folder()
    return cache and cache / "evener" / "ratio.json"


def write_ratio(fit: RatioFit) -> Path | None:
    """Write a fit for later plans, and return its path; None if it cannot be written."""
    path = file_of_ratio()
    if path is None:
        return None
    document = {"version": VERSION, "machine": fingerprint(), **asdict(fit)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps(document, indent=2), encoding="utf-8")
    except (OSError, FileError) as error:
        log.debug("the computation ratio is not stored for later plans: %s", error)
        return None
    return path


def stored_ratio(model: str) -> RatioFit | None:
    """Return the fit that was measured on this machine with this GPU; None if there is none."""
    path = file_of_ratio()
    try:
        if path is None or not path.is_file():
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("version") != VERSION or document.pop("machine") != fingerprint():
            return None
        breaks, levels = (tuple(map(float, document.pop(name))) for name in ("breaks", "levels"))
        fit = RatioFit(breaks=breaks, levels=levels, **document)
        positive = (*breaks, *levels, *map(fit.ratio, breaks[:1]))
        valid = all(0 < one < math.inf for one in positive) and list(breaks) == sorted(set(breaks))
        finite = math.isfinite(fit.intercept) and math.isfinite(fit.slope)
        if len(breaks) != len(levels) or not valid or not finite:
            return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        log.debug("the stored computation ratio cannot be read: %s", error)
        return None
    return fit if fit.model == model else None
