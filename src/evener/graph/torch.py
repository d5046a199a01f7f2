"""The edges of a graph as PyTorch tensors, on the CPU or on the GPU that has the edges."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.gpu_edges import GpuEdges

if TYPE_CHECKING:
    from evener.graph.adjacency import Adjacency

__all__ = ["csr_tensor", "edge_index"]

_LOW_HALF = (1 << 32) - 1


def edge_index(graph: Adjacency) -> tuple[Any, Any]:
    """Return the tails and heads of all stored edges, and their weights or None; see `Graph.to_torch`."""
    torch = _torch()
    if isinstance(graph.gpu_edges, GpuEdges):
        keys, weights = graph.gpu_edges.all_sorted()
        keys = torch.from_dlpack(keys.view(np.int64))
        ends = torch.stack([keys >> 32 & _LOW_HALF, keys & _LOW_HALF])
        return ends, None if weights is None else torch.from_dlpack(weights)
    lengths = torch.from_numpy(np.diff(graph.offsets).astype(np.int64))
    tails = torch.repeat_interleave(torch.arange(graph.n), lengths)
    heads = torch.from_numpy(graph.targets.astype(np.int64))
    return torch.stack([tails, heads]), _host_weights(torch, graph)


def csr_tensor(graph: Adjacency) -> Any:
    """Return the weights of all stored edges, or ones, as a sparse tensor; see `Graph.to_torch`."""
    torch = _torch()
    if isinstance(graph.gpu_edges, GpuEdges):
        keys, weights = graph.gpu_edges.all_sorted()
        offsets = graph.gpu_edges.offsets_of(graph.gpu_edges.row_lengths())
        offsets = torch.from_dlpack(offsets.view(np.int64))
        heads = torch.from_dlpack(keys.view(np.int64)) & _LOW_HALF
        values = None if weights is None else torch.from_dlpack(weights)
    else:
        offsets = torch.from_numpy(graph.offsets.astype(np.int64))
        heads, values = torch.from_numpy(graph.targets.astype(np.int64)), _host_weights(torch, graph)
    if values is None:
        values = torch.ones(graph.m, device=heads.device)
    # The rows are right, and PyTorch warns unless the check is switched on or off.
    with torch.sparse.check_sparse_tensor_invariants(enable=False), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(offsets, heads, values, size=(graph.n, graph.n))


def _host_weights(torch: Any, graph: Adjacency) -> Any:
    return None if graph.weights is None else torch.from_numpy(graph.weights.copy())


def _torch() -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        msg = "to_torch needs PyTorch, which is not installed; pip install torch, or use to_scipy"
        raise ArgumentError(msg) from error
