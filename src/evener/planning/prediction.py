"""Prediction: what a plan expects of a run, to be held against what the run then does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ElementPrediction", "Prediction"]


@dataclass(frozen=True, slots=True)
class ElementPrediction:
    """What one element is expected to spend on a whole run.

    Attributes
    ----------
    name : str
        As the element is named in the run's timeline.
    compute_seconds : float
        In kernels.
    exchange_seconds : float
        In sending, and in what an exchange takes however few values travel; where CPU and GPU run what skips
        edges, all that the run takes beside kernels.
    """

    name: str
    compute_seconds: float
    exchange_seconds: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a plan expects of a whole run.

    Attributes
    ----------
    elements : tuple of ElementPrediction
        One for each element.
    seconds : float
        Wall time of the algorithm, as in `Result.seconds`.
    speedup_over_cpu, speedup_over_gpu : float or None
        How many times as fast as on the CPU alone, and on one GPU alone; None where that cannot be run: there
        is no GPU, or the graph does not fit it; nor where a run has no pass to be faster at.
    beside_computing : bool
        Whether `exchange_seconds` are all that the run takes beside kernels, the same for each element.

    Examples
    --------
    >>> Prediction((ElementPrediction("cpu", 0.2, 0.01),), seconds=0.21).speedup_over_gpu is None
    True
    """

    elements: tuple[ElementPrediction, ...]
    seconds: float
    speedup_over_cpu: float | None = None
    speedup_over_gpu: float | None = None
    beside_computing: bool = False

    def beside(self, seconds: Mapping[str, float], passes: float = 1.0) -> Prediction:
        """The same, with its speed-ups over what a pass would take on "CPU alone" and "GPU alone"."""
        cpu, gpu = seconds.get("CPU alone"), seconds.get("GPU alone")
        return replace(
            self,
            speedup_over_cpu=passes * cpu / self.seconds if cpu is not None and self.seconds else None,
            speedup_over_gpu=passes * gpu / self.seconds if gpu is not None and self.seconds else None,
        )
