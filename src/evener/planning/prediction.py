"""Prediction: the seconds that a plan expects of a run, with their range and origin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ElementPrediction", "Prediction"]


@dataclass(frozen=True, slots=True)
class ElementPrediction:
    """The seconds that one element is expected to spend on a run.

    Attributes
    ----------
    name : str
        The element, as in the run's timeline.
    compute_seconds : float
        Seconds in kernels.
    exchange_seconds : float
        Seconds of sending, and the fixed cost of supersteps.
    """

    name: str
    compute_seconds: float
    exchange_seconds: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The seconds that a plan expects of a run.

    Attributes
    ----------
    elements : tuple of ElementPrediction
        One for each element.
    seconds : float
        Wall time of the algorithm, as in `Result.seconds`.
    least_seconds, most_seconds : float
        The range in which a run is expected.
    speedup_over_cpu, speedup_over_gpu : float or None
        Predicted seconds of the CPU alone, and of one GPU alone, over `seconds`. None if that placement does
        not fit or the run has no pass.
    runs : int
        Observed runs on this machine behind the prediction; 0 if it follows from hardware facts alone.
    unobserved : tuple of str
        Elements on which no run was observed.

    Examples
    --------
    >>> Prediction((ElementPrediction("cpu", 0.2, 0.01),), seconds=0.21).origin
    'from hardware facts'
    """

    elements: tuple[ElementPrediction, ...]
    seconds: float
    least_seconds: float = 0.0
    most_seconds: float = float("inf")
    speedup_over_cpu: float | None = None
    speedup_over_gpu: float | None = None
    runs: int = 0
    unobserved: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Return the basis of the prediction in words."""
        if not self.runs:
            return "from hardware facts"
        runs = f"from {self.runs} run{'s' if self.runs > 1 else ''} on this machine"
        return f"{runs}; from hardware facts for {', '.join(self.unobserved)}" if self.unobserved else runs

    def with_alternatives(self, seconds: Mapping[str, float], passes: float = 1.0) -> Prediction:
        """Return the prediction with its speed-ups over "CPU alone" and "GPU alone".

        `passes` is the number of passes of this prediction for each pass of the alternatives.
        """
        cpu, gpu = seconds.get("CPU alone"), seconds.get("GPU alone")
        return replace(
            self,
            speedup_over_cpu=passes * cpu / self.seconds if cpu is not None and self.seconds else None,
            speedup_over_gpu=passes * gpu / self.seconds if gpu is not None and self.seconds else None,
        )
