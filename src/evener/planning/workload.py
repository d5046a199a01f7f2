"""Workload: the facts of an algorithm from which its runs are predicted."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Workload"]


class Workload(Protocol):
    """The facts of an algorithm from which its runs are predicted; an `AlgorithmSpec` has them."""

    @property
    def name(self) -> str:
        """The name of the algorithm."""

    @property
    def unit(self) -> str:
        """The name of a pass: "an iteration", "a run from one source"."""

    @property
    def reads_every_edge(self) -> bool:
        """Whether every pass reads every edge."""

    @property
    def traffic(self) -> tuple[float, float]:
        """Bytes that a pass pushes and pulls for each mirror."""
