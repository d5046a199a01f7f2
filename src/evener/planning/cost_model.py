"""Cost model: seconds that each element of a run takes, from the sizes of its partition.

    computing  = local edges · a + host edges · l + vertices · v
    exchanging = bytes sent · (1 / c) + supersteps · s
    seconds of a run = max over elements (computing + exchanging)

Gharaibeh et al. (PACT 2012, section 3) have t(p) = |boundary edges| / c + |edges| / r in equation 1.
Equation 2 has the maximum. Here 1/a is their r. Vertices have a cost of their own (Gharaibeh et al. 2013,
section 7.1). Guo et al. (2016) measure these rates by runs on the machine. A GPU reads *host edges* from host
memory. A vertex counts if it has an edge. The work of a CPU element is divided among its threads.

The coefficients solve a ridge regression toward a prior. With k = z · prior, minimise over z >= 0

    sum over runs of weight · (predicted - measured)² / (measured · by prior) + RIDGE · |z - 1|²

for computing and for exchanging, where "by prior" is the prediction with z = 1. A factor z above LARGE_FACTOR
is penalised relative to its size, so one run outweighs a prior that is far too small. Without runs, z = 1.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.planning.prediction import ElementPrediction, Prediction
from evener.planning.prior import Coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.partition.sizes import ElementShare
    from evener.planning.observations import Observation, ObservedElement
    from evener.planning.prior import Prior

__all__ = ["CostModel", "Fitted", "fit", "work_of"]

# Weight of the prior; benchmarks/results/planner_regret.json.
RIDGE = 0.1
# Factor of the prior from which on the penalty is relative, and solutions until its weight has settled.
LARGE_FACTOR, ROUNDS = 2.0, 3
# Weight of a run relative to the next run of the same algorithm on the same kind of element.
DECAY = 0.95
# Weight of the prior margin, in runs.
PRIOR_RUNS = 0.05
# Cost of a superstep of a single element, as a part of the cost of a superstep with an exchange.
SINGLE_ELEMENT_SUPERSTEP = 0.1
# Factor by which a prediction from hardware facts alone may be off, less 1.
PRIOR_SPREAD = 1.0


# Coefficients of computing; the rest are coefficients of exchanging.
_COMPUTING = 3


class Work(NamedTuple):
    """The work of an element in a run, in the units of `Coefficients`."""

    edges: float
    host_edges: float
    vertices: float
    bytes_sent: float
    supersteps: float


def work_of(
    kind: str,
    threads: int,
    *,
    edges: float,
    host_edges: float,
    vertices: float,
    bytes_sent: float,
    supersteps: float,
    several: bool,
) -> Work:
    """Return the work of an element.

    Parameters
    ----------
    kind : {"cpu", "cuda"}
    threads : int
        Threads of a CPU element.
    edges : float
        All edges, including edges in host memory.
    host_edges, vertices, bytes_sent, supersteps : float
    several : bool
        Whether other elements take part.
    """
    among = threads if kind == "cpu" else 1
    return Work(
        (edges - host_edges) / among,
        host_edges,
        vertices / among,
        bytes_sent,
        supersteps if several else supersteps * SINGLE_ELEMENT_SUPERSTEP,
    )


class Fitted(NamedTuple):
    """Coefficients of one algorithm on one kind of element.

    Attributes
    ----------
    coefficients : Coefficients
    margin : float
        Part by which a run may take longer, for a cautious choice.
    spread : float
        Part by which a prediction may be off.
    runs : int
        Observed runs behind the coefficients.
    """

    coefficients: Coefficients
    margin: float
    spread: float
    runs: int = 0

    def seconds(self, work: Work) -> tuple[float, float]:
        """Return the seconds of computing and of exchanging."""
        parts = [each * amount for each, amount in zip(self.coefficients, work, strict=True)]
        return sum(parts[:_COMPUTING]), sum(parts[_COMPUTING:])


def fit(prior: Prior, runs: Sequence[tuple[Work, float, float]]) -> Fitted:
    """Fit the coefficients to observed runs.

    Parameters
    ----------
    prior : Prior
    runs : sequence of (Work, float, float)
        The work of each run with its seconds of computing and of exchanging, oldest first.
    """
    if not runs:
        return Fitted(prior.coefficients, prior.margin, PRIOR_SPREAD)
    base = np.array(prior.coefficients)
    weights = np.power(DECAY, np.arange(len(runs))[::-1], dtype=np.float64)
    z = np.ones(len(base))
    for part, measured in (
        (slice(None, _COMPUTING), [computing for _, computing, _ in runs]),
        (slice(_COMPUTING, None), [exchanging for _, _, exchanging in runs]),
    ):
        work = np.array([one[part] for one, _, _ in runs])
        z[part] = _ridge(work * base[part], np.array(measured), weights)
    coefficients = Coefficients(*(z * base).tolist())
    fitted = Fitted(coefficients, 0.0, 0.0)
    errors = [
        sum(fitted.seconds(work)) / (computing + exchanging) - 1 for work, computing, exchanging in runs
    ]
    squares = float(weights @ np.square(errors))

    def blended(of_prior: float) -> float:
        return math.sqrt((PRIOR_RUNS * of_prior**2 + squares) / (PRIOR_RUNS + float(weights.sum())))

    return Fitted(coefficients, blended(prior.margin), blended(PRIOR_SPREAD), len(runs))


def _ridge(
    work: NDArray[np.float64], measured: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the factors z >= 0 of the prior, with `work` in seconds by the prior."""
    from scipy.optimize import nnls  # takes half a second to import

    expected = work.sum(axis=1)
    there = (expected > 0) & (measured > 0)
    scale = np.sqrt(weights[there] / (expected[there] * measured[there]))
    rows, target = work[there] * scale[:, None], measured[there] * scale
    z = np.ones(work.shape[1])
    for _ in range(ROUNDS):
        toward = math.sqrt(RIDGE) / np.maximum(z / LARGE_FACTOR, 1)
        z = nnls(np.vstack([rows, np.diag(toward)]), np.append(target, toward))[0]
    return z


@dataclass(frozen=True, slots=True)
class CostModel:
    """Predicts runs of one algorithm on some elements.

    Attributes
    ----------
    pushed, pulled : float
        Bytes that travel for each mirror in a pass, see `Traffic`.
    fitted : mapping of str to Fitted
        By the name of the element.
    supersteps : float
        Supersteps of a pass.
    """

    pushed: float
    pulled: float
    fitted: Mapping[str, Fitted]
    supersteps: float

    @classmethod
    def of(
        cls,
        traffic: tuple[float, float],
        priors: Mapping[str, Prior],
        observed: Sequence[Observation],
        *,
        supersteps: float,
    ) -> CostModel:
        """Fit a model.

        Parameters
        ----------
        traffic : (float, float)
            Bytes pushed and pulled for each mirror in a pass.
        priors : mapping of str to Prior
            By the name of the element.
        observed : sequence of Observation
            Runs of the algorithm on this machine, oldest first.
        supersteps : float
            Supersteps of a pass where none was observed.
        """
        fitted = {
            name: fit(
                prior,
                [
                    (_work_observed(run, one), one.compute, one.exchange + run.overhead)
                    for run in observed
                    for one in run.elements
                    if one.model == prior.model
                ],
            )
            for name, prior in priors.items()
        }
        counted = [run.supersteps / run.passes for run in observed if len(run.elements) > 1 and run.passes]
        return cls(*traffic, fitted, statistics.median(counted) if counted else supersteps)

    def predict(self, shares: Sequence[ElementShare], *, passes: float = 1.0) -> Prediction:
        """Predict a run with these shares of the graph."""
        elements = [self._element(share, passes, several=len(shares) > 1) for share in shares]
        fitted = [self.fitted[share.element] for share in shares]
        totals = [one.compute_seconds + one.exchange_seconds for one in elements]
        known = [one.runs for one in fitted]
        return Prediction(
            tuple(elements),
            max(totals),
            least_seconds=max(t / (1 + one.spread) for t, one in zip(totals, fitted, strict=True)),
            most_seconds=max(t * (1 + one.spread) for t, one in zip(totals, fitted, strict=True)),
            runs=max(known),
            unobserved=tuple(share.element for share, runs in zip(shares, known, strict=True) if not runs),
        )

    def cautious_seconds(self, shares: Sequence[ElementShare], *, passes: float = 1.0) -> float:
        """Return the seconds of a run if each element takes longer by its margin."""
        return max(
            (one.compute_seconds + one.exchange_seconds) * (1 + self.fitted[share.element].margin)
            for share in shares
            for one in [self._element(share, passes, several=len(shares) > 1)]
        )

    def _element(self, share: ElementShare, passes: float, *, several: bool) -> ElementPrediction:
        sizes = share.sizes
        work = work_of(
            share.kind,
            share.threads,
            edges=passes * sizes.edges,
            host_edges=passes * share.host_edges,
            vertices=passes * sizes.connected,
            bytes_sent=passes * (sizes.mirrors * self.pushed + sizes.remote_mirrors * self.pulled),
            supersteps=passes * self.supersteps,
            several=several,
        )
        return ElementPrediction(share.element, *self.fitted[share.element].seconds(work))


def _work_observed(run: Observation, one: ObservedElement) -> Work:
    return work_of(
        one.kind,
        one.threads,
        edges=run.passes * one.edges,
        host_edges=run.passes * one.host_edges,
        vertices=run.passes * one.vertices,
        bytes_sent=one.bytes_sent,
        supersteps=run.supersteps,
        several=len(run.elements) > 1,
    )
