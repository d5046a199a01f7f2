"""Columns of a result as arrays on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.partition.gathered import Gathered
from evener.partition.gpu_edges_build import has_edges_on
from evener.results.record import RunRecord
from evener.system.agreement import collective, on_all_ranks

if TYPE_CHECKING:
    from evener.elements import Element

__all__ = ["GpuColumns"]


class GpuColumns(RunRecord):
    """The columns of a run as arrays on its GPU; see `Result`."""

    @collective(name="Result.device")
    def device(self, name: str) -> Any:
        """Return an array of the result, or the ids as "vertex", on the GPU of the run, in the order of ids.

        If one GPU ran alone, its values stay there, unless the host has read or computed them. Otherwise, the
        host gathers them and copies them to the first GPU. With several ranks, each rank gets its part.

        This is a collective operation; all ranks must call it.

        Returns
        -------
        cupy.ndarray
            A new array of the shape of ``result[name]``, with ``__cuda_array_interface__`` and
            ``__dlpack__``. Vertices are ids, -1 for none.

        Raises
        ------
        ArgumentError
            If the run used no GPU, or the array has ids that are not integers. If the rows are not vertices,
            and `name` is "vertex".
        """
        return _column(self, name)


def _column(result: RunRecord, name: str) -> Any:
    """Return a column of a result, or the ids, on the first GPU of its run."""
    gpu = on_all_ranks(result.world, lambda: _first_gpu(result, name))
    if name == "vertex" and name not in result:
        return _ids(result, gpu)
    source = result.source(name)
    if not result.graph.has_integer_ids and result.columns[name].names_vertices:
        msg = f"device: {name} has ids that are not integers, which no GPU holds; use result[{name!r}]"
        raise ArgumentError(msg)
    if isinstance(source, Gathered) and source.is_on_gpu:
        return source.on_gpu()
    return gpu.upload(result[name])


def _ids(result: RunRecord, gpu: Element) -> Any:
    """Return the ids of the vertices of this rank on a GPU."""
    graph = result.graph
    if not graph.has_integer_ids:
        msg = "device: the graph has ids that are not integers, which no GPU holds; use result.ids"
        raise ArgumentError(msg)
    if has_edges_on(graph, gpu.memory) and graph.gpu_edges is not None and graph.gpu_edges.ids is not None:
        return gpu.run(graph.gpu_edges.ids.copy)
    return gpu.upload(result.ids)


def _first_gpu(result: RunRecord, name: str) -> Element:
    """Return the first GPU of this rank in a run; raise an error without one."""
    placed = result.partitioned
    elements = [] if placed is None else placed.elements
    gpu = next((element for element in elements if element.kind == "cuda"), None)
    if gpu is None:
        where = ", ".join(element.name for element in elements) or "no element, because it is a copy"
        msg = (
            f"device: expected the result of a run on a GPU, found a run on {where}; "
            f'run with on="cuda:0", or use result[{name!r}]'
        )
        raise ArgumentError(msg)
    return gpu
