"""The policy `metis`: few crossing edges, by METIS (Karypis and Kumar, ICPP 1995; G16 Table I).

The policy needs the package pymetis, the extra `metis` of Evener. Vertices weigh their edges, and an element
gets its share of them within the tolerance of METIS. METIS runs on one core and is slow: use it for graphs
that are read once and run many times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.partition.orders import owner_array
from evener.partition.policy import Policy, Processors, Vertices
from evener.partition.streams import neighbour_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:
    try:
        import pymetis
    except ImportError:
        msg = "policy=: metis needs pymetis, which is not installed; run pip install 'evener[metis]'"
        raise ArgumentError(msg) from None
    n = len(vertices.degree)
    owner = owner_array(n, len(processors.shares))
    elements = np.flatnonzero(processors.shares)
    if len(elements) == 1 or n <= len(elements):
        owner[:] = elements[np.minimum(np.arange(n), len(elements) - 1)]
        return owner
    offsets, targets, weights = _symmetric_rows(vertices)
    found = pymetis.part_graph(
        len(elements),
        pymetis.CSRAdjacency(offsets, targets),
        eweights=weights,
        vweights=_weights(vertices.degree),
        tpwgts=(processors.shares / processors.shares.sum())[elements].tolist(),
        options=pymetis.Options(seed=seed),
    )
    owner[:] = elements[np.asarray(found.vertex_part)]
    return owner


def _weights(degree: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.int64]:
    """Return weights in proportion to the degrees. METIS needs weights above 0, also without stored edges.

    The vertices without stored edges weigh at most 1% of all.
    """
    edges, without = int(degree.sum()), int(np.count_nonzero(degree == 0))
    scale = max(1, -(-100 * without // max(1, edges)))
    return np.maximum(degree.astype(np.int64) * scale, 1)


def _symmetric_rows(vertices: Vertices) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the offsets, targets and multiplicities of edges without direction and without loops."""
    from scipy.sparse import csr_array

    n = len(vertices.degree)
    rows = neighbour_rows(vertices.graph)
    matrices = [
        csr_array((np.ones(len(targets), np.int64), targets, offsets), shape=(n, n))
        for offsets, targets in (rows[:2], rows[2:])
        if len(offsets)
    ]
    both = sum(matrices[1:], matrices[0]).tocoo()
    kept = both.row != both.col
    rows_of = csr_array((both.data[kept], (both.row[kept], both.col[kept])), shape=(n, n))
    return rows_of.indptr.astype(np.int64), rows_of.indices.astype(np.int64), rows_of.data


POLICY = Policy(_owners, "edges")
