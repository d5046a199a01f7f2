"""Cost model: seconds that each element of a run takes, from the sizes of its partition.

    computing  = local edges · a + host edges · l + vertices · v
    exchanging = bytes sent · (1 / c) + supersteps · s
    seconds of a run = max over elements (computing + exchanging)

Gharaibeh et al. (PACT 2012, section 3) have the sum as equation 1 and the maximum as equation 2. Here 1/a is
their r. Vertices have a cost of their own (Gharaibeh et al. 2013, section 7.1). Guo et al. (2016) measure
these rates by runs on the machine. A GPU reads *host edges* from host memory. A vertex counts if it has an
edge. The work of a CPU element is divided among its threads.

The coefficients solve a ridge regression toward a prior. With k = z · prior, minimise over z >= 0

    sum over runs of weight · (predicted - measured)² / (measured · by prior) + RIDGE · |z - 1|²

for computing and for exchanging, where "by prior" is the prediction with z = 1. Without runs, z = 1. A
factor z above LARGE_FACTOR is penalised relative to its size, so one run outweighs a prior that is far too
small.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.planning.prediction import ElementPrediction, Prediction
from evener.planning.prior import COMPUTING, Coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.partition.sizes import ElementShare
    from evener.planning.observations import Observation
    from evener.planning.prior import Rates

__all__ = ["CostModel", "Work", "fit"]

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


class Work(NamedTuple):
    """The work of an element in a run, in the units of `Coefficients`."""

    edges: float
    host_edges: float
    vertices: float
    bytes_sent: float
    supersteps: float

    @classmethod
    def of(
        cls,
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
        """Return the work of an element; `edges` includes those in host memory.

        `several` says that other elements take part.
        """
        among = threads if kind == "cpu" else 1
        return cls(
            (edges - host_edges) / among,
            host_edges,
            vertices / among,
            bytes_sent,
            supersteps if several else supersteps * SINGLE_ELEMENT_SUPERSTEP,
        )


def fit(prior: Rates, runs: Sequence[tuple[Work, float, float]]) -> Rates:
    """Fit the coefficients to runs, oldest first: work, seconds of computing, and seconds of exchanging."""
    if not runs:
        return prior
    base = np.array(prior.coefficients)
    weights = np.power(DECAY, np.arange(len(runs))[::-1], dtype=np.float64)
    work, measured = np.array([run[0] for run in runs]), np.array([run[1:] for run in runs])
    z = np.ones(len(base))
    for part, seconds in zip((slice(COMPUTING), slice(COMPUTING, None)), measured.T, strict=True):
        z[part] = _ridge(work[:, part] * base[part], seconds, weights)
    coefficients = Coefficients(*(z * base).tolist())
    errors = work @ np.array(coefficients) / measured.sum(axis=1) - 1
    squares = float(weights @ np.square(errors))

    def blended(of_prior: float) -> float:
        return math.sqrt((PRIOR_RUNS * of_prior**2 + squares) / (PRIOR_RUNS + float(weights.sum())))

    margin, spread = blended(prior.margin), blended(prior.spread)
    return replace(prior, coefficients=coefficients, margin=margin, spread=spread, runs=len(runs))


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
    rates : mapping of str to Rates
        By the name of the element.
    supersteps : float
        Supersteps of a pass.
    """

    pushed: float
    pulled: float
    rates: Mapping[str, Rates]
    supersteps: float

    @classmethod
    def of(
        cls,
        traffic: tuple[float, float],
        priors: Mapping[str, Rates],
        observed: Sequence[Observation],
        *,
        supersteps: float,
    ) -> CostModel:
        """Fit a model to runs of the algorithm on this machine, oldest first.

        `supersteps` are those of a pass where none was observed.
        """
        runs: dict[str, list[tuple[Work, float, float]]] = defaultdict(list)
        for run in observed:
            for one in run.elements:
                work = Work.of(
                    one.kind,
                    one.threads,
                    edges=run.passes * one.edges,
                    host_edges=run.passes * one.host_edges,
                    vertices=run.passes * one.vertices,
                    bytes_sent=one.bytes_sent,
                    supersteps=run.supersteps,
                    several=len(run.elements) > 1,
                )
                runs[one.model].append((work, one.compute, one.exchange + run.overhead))
        rates = {name: fit(prior, runs.get(prior.model, [])) for name, prior in priors.items()}
        counted = [run.supersteps / run.passes for run in observed if len(run.elements) > 1 and run.passes]
        return cls(*traffic, rates, statistics.median(counted) if counted else supersteps)

    def predict(self, shares: Sequence[ElementShare], *, passes: float = 1.0) -> Prediction:
        """Predict a run with these shares of the graph."""
        elements = self._elements(shares, passes)
        rates = [self.rates[share.element] for share in shares]
        totals = [one.compute_seconds + one.exchange_seconds for one in elements]
        return Prediction(
            elements,
            max(totals),
            least_seconds=max(t / (1 + one.spread) for t, one in zip(totals, rates, strict=True)),
            most_seconds=max(t * (1 + one.spread) for t, one in zip(totals, rates, strict=True)),
            runs=max(one.runs for one in rates),
            unobserved=tuple(share.element for share, one in zip(shares, rates, strict=True) if not one.runs),
        )

    def cautious_seconds(self, shares: Sequence[ElementShare], *, passes: float = 1.0) -> float:
        """Return the seconds of a run if each element takes longer by its margin."""
        return max(
            (one.compute_seconds + one.exchange_seconds) * (1 + self.rates[one.name].margin)
            for one in self._elements(shares, passes)
        )

    def _elements(self, shares: Sequence[ElementShare], passes: float) -> tuple[ElementPrediction, ...]:
        works = (
            Work.of(
                share.kind,
                share.threads,
                edges=passes * share.sizes.edges,
                host_edges=passes * share.host_edges,
                vertices=passes * share.sizes.connected,
                bytes_sent=passes
                * (share.sizes.mirrors * self.pushed + share.sizes.remote_mirrors * self.pulled),
                supersteps=passes * self.supersteps,
                several=len(shares) > 1,
            )
            for share in shares
        )
        return tuple(
            ElementPrediction(share.element, *self.rates[share.element].seconds(work))
            for share, work in zip(shares, works, strict=True)
        )
