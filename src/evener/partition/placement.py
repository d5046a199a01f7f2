"""Placement: where a graph is to run, as its caller asks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from evener.elements import named, parse_elements
from evener.elements.cuda.discovery import gpus
from evener.errors import ArgumentError, DeviceError, DeviceOutOfMemory
from evener.graph.gpu_edges import GpuEdges
from evener.partition.owners import check_alpha
from evener.partition.policy import check_policy
from evener.system.memory import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from evener.elements import Element
    from evener.elements.cuda.element import CudaElement
    from evener.graph.graph import Graph

__all__ = ["Placement"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a graph is to run. A plan fills in what is open.

    Attributes
    ----------
    on : tuple of str or of Element, or None
        The elements; None is open.
    policy : str
        The policy of `partition`; "auto" is open.
    alpha : float or None
        The share of the edges on the CPU side. None is open, and without a plan the elements divide the edges
        in proportion to their threads.
    gpu_memory : int or None
        Bytes to use on each GPU. None is all free memory.
    directions : {"both", "out", "in"}
        The edges that the partitions store.
    """

    on: tuple[str | Element, ...] | None = None
    policy: str = "auto"
    alpha: float | None = None
    gpu_memory: int | None = None
    directions: str = "both"

    @classmethod
    def parse(
        cls,
        on: str | Sequence[str] | Sequence[Element] | None = None,
        policy: str = "auto",
        alpha: float | Literal["auto"] | None = None,
        gpu_memory: str | int | None = None,
        directions: str = "both",
    ) -> Placement:
        """Return the placement that the arguments of a call describe. No element is created.

        Raises
        ------
        ArgumentError
            If an argument has a wrong type or value. `elements` checks the names in `on`.
        """
        if directions not in ("both", "out", "in"):
            msg = f'directions=: expected "both", "out" or "in", found {directions!r}'
            raise ArgumentError(msg)
        names = named(cast("Any", on))
        limit = None if gpu_memory is None else parse_bytes(gpu_memory, "gpu_memory")
        check_policy(policy, auto=True)
        share = None if isinstance(alpha, str) and alpha == "auto" else alpha
        check_alpha(share)
        own = None if names is None else tuple(one.strip() if isinstance(one, str) else one for one in names)
        return cls(own, policy, share, limit, directions)

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks."""
        return {"policy": self.policy, "alpha": self.alpha, "directions": self.directions}

    @property
    def is_open(self) -> bool:
        """Whether the caller asks for nothing."""
        return self == Placement(directions=self.directions)

    @property
    def kinds(self) -> list[str]:
        """The kind of each element in `on`."""
        names = [one if isinstance(one, str) else getattr(one, "kind", str(one)) for one in self.on or ()]
        return [name.partition(":")[0].strip() for name in names]

    def elements(self) -> list[Element]:
        """Return the elements in `on`; all cores as one element if they are open.

        Raises
        ------
        ArgumentError, DeviceError
            As `parse_elements`.
        """
        on: Any = None if self.on is None else list(self.on)
        return parse_elements(on, gpu_memory=self.gpu_memory)

    def with_elements(self) -> Placement:
        """Return the placement with elements in place of their names, if they are not open."""
        return self if self.on is None else replace(self, on=tuple(self.elements()))

    def near(self, graph: Graph) -> Placement:
        """Return the placement on the GPU with the caller's edges of a graph, if the elements are open."""
        edges = graph.gpu_edges
        if self.on is not None or not isinstance(edges, GpuEdges) or edges.generated:
            return self
        return replace(self, on=(edges.element.name,))

    def generating_gpus(self) -> list[CudaElement]:
        """Return the GPUs that may generate a graph for the placement: the first GPU if elements are open.

        The list has no GPU if the graph has to be on a CPU too, or if the caller limits the memory of GPUs.
        """
        if self.gpu_memory is not None or self.alpha is not None:
            return []
        if self.on is not None:
            return cast("list[CudaElement]", self.elements()) if set(self.kinds) == {"cuda"} else []
        with suppress(DeviceError, DeviceOutOfMemory):
            if gpus():
                return cast("list[CudaElement]", parse_elements("cuda:0"))
        return []
