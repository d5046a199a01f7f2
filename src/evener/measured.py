"""Measured: what came of runs on a machine, and the rates that this amounts to."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from evener.passes import LOOK_UP, READ_ALL
from evener.planning.fit import Sample, fitted, fitted_carried, fitted_mapped
from evener.planning.model import TRAVELS

if TYPE_CHECKING:
    from evener.planning.rates import Carried, Mapped, Rate

__all__ = ["Measured"]


class Measured:
    """Samples by algorithm and tier of memory, of graphs of these scales in turn.

    Attributes
    ----------
    scales : tuple of int
    samples : dict of (str, str) to list of Sample
        By algorithm, and "cpu", "gpu", "pulled", "share", "beside" or "search": see `evener.profile`.
    supersteps : dict of str to float
        Of a pass of each algorithm.
    in_host_memory : dict of str to list of (int, int, float, float)
        The edges and rows that lay in the host's memory, the rows of these without a head, counted as
        `as_long` does, and the seconds of a pass.
    beside_computing : dict of str to list of (int, int, int, float)
        The graph's vertices that have an edge, or would with 16 edges for each, the mirrors there were, all
        the CPU's vertices, and the seconds of a pass beside computing.
    """

    def __init__(self, scales: tuple[int, ...]) -> None:
        self.scales = scales
        self.samples: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
        self.supersteps: dict[str, float] = {}
        self.in_host_memory: defaultdict[str, list[tuple[int, int, float, float]]] = defaultdict(list)
        self.beside_computing: defaultdict[str, list[tuple[int, int, int, float]]] = defaultdict(list)

    def mapped(self, name: str) -> Mapped:
        """What edges cost more in the host's memory, and the rows they are of, with heads and without."""
        near = self.samples[name, "pulled" if name in READ_ALL else "gpu"][-1].seconds
        return fitted_mapped(
            [(edges, rows, bare, seconds - near) for edges, rows, bare, seconds in self.in_host_memory[name]]
        )

    def carried(self, name: str, bytes_per_second: float) -> Carried:
        """What CPU and GPU take beside computing, where values are copied so fast."""
        travels = TRAVELS[name]
        each_mirror = (travels.pushed + travels.pulled) / bytes_per_second
        return fitted_carried(self.beside_computing[name], each_mirror)

    def rate(self, name: str, tier: str) -> Rate:
        """What an edge costs there, and a vertex."""
        samples = self.samples[name, tier]
        if tier == "cpu" and (shares := self.samples[name, "share"]):
            # A vertex of a share costs several times what one of a sparse graph does: on one thread, PageRank
            # took 14 ns for each of R-MAT 22, where graphs of one and four edges a vertex said 0 to 3.
            densest = {sample.scale: sample for sample in sorted(samples, key=lambda one: one.edges)}
            samples = [*densest.values(), *shares]
        return fitted(samples, reads_all=name in READ_ALL, looks_up=name in LOOK_UP)
