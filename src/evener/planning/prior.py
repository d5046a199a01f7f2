"""Prior: coefficients of the cost model from hardware facts, before any run was observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evener.elements.hardware import gpu_facts, model_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.elements.description import ElementDescription
    from evener.elements.hardware import GpuFacts

__all__ = [
    "COMPUTING",
    "Coefficients",
    "Rates",
    "Workload",
    "cpu_prior",
    "gpu_prior",
    "prior_of",
    "supersteps_of",
]

# Bytes of GPU memory traffic for an edge: its target, and the sector of the gathered value.
GPU_EDGE_BYTES = 36
# Bytes of GPU memory traffic for a vertex in an iteration of PageRank.
GPU_VERTEX_BYTES = 32
# Bytes that cross the bus for an edge in host memory: its target.
HOST_EDGE_BYTES = 4
# Thread-seconds of a CPU for an edge and a vertex, values outside the caches.
CPU_EDGE_SECONDS = 2e-9
CPU_VERTEX_SECONDS = 15e-9
# Bytes a second between elements without a GPU.
CPU_LINK = 10e9
# Seconds of a superstep with an exchange, for each kind of element.
SUPERSTEP_SECONDS = {"cpu": 100e-6, "cuda": 600e-6}
# Algorithms that leave rows early: the part of the edges that they read, and the visits of a vertex.
EARLY_EXIT_EDGES = 0.1
EARLY_EXIT_HOST_EDGES = 0.02
EARLY_EXIT_VERTICES = {"cpu": 2.0, "cuda": 6.0}
# Supersteps of a pass, by whether a pass reads every edge.
SUPERSTEPS = {True: 1.0, False: 8.0}
# Part by which a run may take longer. Other programs slow host memory more than GPU memory.
MARGIN = {"cpu": 0.15, "cuda": 0.05}
# Factor by which a prediction from hardware facts alone may be off, less 1.
PRIOR_SPREAD = 1.0


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


class Coefficients(NamedTuple):
    """Seconds for each unit of work.

    Attributes
    ----------
    edge : float
        Edge in the element's memory: a. Thread-seconds on a CPU.
    host_edge : float
        Edge that a GPU reads from host memory: l.
    vertex : float
        Vertex with an edge: v. Thread-seconds on a CPU.
    byte : float
        Byte sent to another element: 1/c.
    superstep : float
        Superstep with an exchange: s.
    """

    edge: float
    host_edge: float
    vertex: float
    byte: float
    superstep: float


# The first coefficients are those of computing, the others of exchanging.
COMPUTING = 3


@dataclass(frozen=True, slots=True)
class Rates:
    """Coefficients of one algorithm on one element: its prior, or fitted to observed runs.

    Attributes
    ----------
    model : str
        The hardware: "cpu", or the name of a GPU. Runs on equal hardware are evidence for each other.
    coefficients : Coefficients
    margin : float
        Part by which a run may take longer, for a cautious choice.
    spread : float
        Part by which a prediction may be off.
    runs : int
        Observed runs behind the coefficients.
    """

    model: str
    coefficients: Coefficients
    margin: float
    spread: float = PRIOR_SPREAD
    runs: int = 0

    def seconds(self, work: Sequence[float]) -> tuple[float, float]:
        """Return the seconds of computing and of exchanging for a work in the units of the coefficients."""
        parts = [each * amount for each, amount in zip(self.coefficients, work, strict=True)]
        return sum(parts[:COMPUTING]), sum(parts[COMPUTING:])


def prior_of(work: Workload, element: Element | ElementDescription) -> Rates:
    """Return the prior for an algorithm on an element; reads hardware facts in milliseconds."""
    if element.kind == "cpu":
        return cpu_prior(work)
    return gpu_prior(work, model_of(element), gpu_facts(getattr(element, "index", None)))


def cpu_prior(work: Workload) -> Rates:
    """Return the prior for an algorithm on a CPU, in thread-seconds."""
    return _prior(work, "cpu", "cpu", (CPU_EDGE_SECONDS, 0.0, CPU_VERTEX_SECONDS), CPU_LINK)


def gpu_prior(work: Workload, model: str, facts: GpuFacts) -> Rates:
    """Return the prior for an algorithm on a GPU with these facts."""
    edge, vertex = (each / facts.memory_bytes_per_second for each in (GPU_EDGE_BYTES, GPU_VERTEX_BYTES))
    link = facts.link_bytes_per_second
    return _prior(work, model, "cuda", (edge, HOST_EDGE_BYTES / link, vertex), link)


def _prior(
    work: Workload, model: str, kind: str, computing: tuple[float, float, float], link: float
) -> Rates:
    edge, host_edge, vertex = computing
    if not work.reads_every_edge:
        edge *= EARLY_EXIT_EDGES
        host_edge *= EARLY_EXIT_HOST_EDGES
        vertex *= EARLY_EXIT_VERTICES[kind]
    return Rates(
        model, Coefficients(edge, host_edge, vertex, 1 / link, SUPERSTEP_SECONDS[kind]), MARGIN[kind]
    )


def supersteps_of(work: Workload) -> float:
    """Return the supersteps of a pass to expect."""
    return SUPERSTEPS[work.reads_every_edge]
