"""R-MAT, Kronecker and uniform graphs that a GPU generates in its memory, equal to those of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.errors import DeviceOutOfMemory
from evener.graph.arrays import MAX_VERTICES
from evener.graph.generators.sources import KroneckerSampler, UniformEdges
from evener.graph.gpu_edges import GpuEdges
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from evener.elements.cuda.element import CudaElement
    from evener.graph.generators.models import Recipe

__all__ = ["graph_on_gpu", "suits_gpu"]

# Fewest drawn edges. The host generates fewer edges while a GPU starts.
_MIN_EDGES = 1 << 22
# Bytes per drawn edge, to sort the edges and to place them; without and with weights.
_EDGE_BYTES, _WEIGHTED_BYTES = 48, 112


def suits_gpu(recipe: Recipe) -> bool:
    """Return whether a GPU can generate the edges of a recipe, and faster than the host."""
    source = recipe.source
    known = isinstance(source, KroneckerSampler | UniformEdges)
    return known and source.m >= _MIN_EDGES and source.n <= MAX_VERTICES


def graph_on_gpu(recipe: Recipe, element: CudaElement) -> Graph | None:
    """Return the graph of a recipe, whose edges are in the memory of a GPU.

    Return None if the edges might not fit. The recipe suits a GPU.
    """
    source = cast("KroneckerSampler | UniformEdges", recipe.source)
    each = _EDGE_BYTES if source.weight_dtype is None else _WEIGHTED_BYTES
    if each * source.m + 16 * source.n > element.room():
        return None
    try:
        edges = _edges(source, element, both=recipe.symmetrise)
        if recipe.repeated == "drop":
            edges = edges.without_loops().without_repeats()
    except DeviceOutOfMemory:
        return None
    return Graph.from_gpu_edges(edges, directed=recipe.directed)


def _edges(source: KroneckerSampler | UniformEdges, element: CudaElement, *, both: bool) -> GpuEdges:
    """Return all drawn edges, with loops and repeated edges."""

    def run(name: str, *args: Any) -> None:
        element.run(element.kernel(f"generate.{name}"), *args)

    tails, heads = (element.allocate(source.m, np.uint32) for _ in range(2))
    given = [element.upload(one) if isinstance(one, np.ndarray) else one for one in source.arguments]
    parts = (1,) if isinstance(source, KroneckerSampler) else ()
    run(source.kernel, 0, *given, tails, heads, *parts)
    weights = None
    if source.weight_range is not None and source.weight_dtype is not None:
        weights = element.allocate(source.m, source.weight_dtype)
        if source.weight_range:
            low, high = source.weight_range
            run("integer_weights", 0, source.key, low, high - low + 1, weights)
        else:
            run("real_weights", 0, source.key, weights)
    return GpuEdges(element, source.n, tails, heads, weights, None, both, generated=True)
