"""The performance model of T12 and T13: how long a split of a graph will take, from sizes and rates alone.

T12 (equations 1 to 4; T13 §3.2) has, for a partition p with edges E_p of which the boundary's are B_p,

    t(p) = B_p / c + E_p / r_p            (1)
    makespan = max over p of t(p)         (2)
    speed-up = t(all on the CPU) / makespan
             = (1 / r_cpu) / (beta / c + alpha / r_cpu)   where the CPU is the last to finish   (3, 4)

with one CPU and one GPU. Here there are any number of elements; r depends on what a partition is made of,
for an edge costs less where the values it leads to fit a cache, and every vertex that has an edge has a cost
of its own (T13 §7.1); edges that a GPU reads from the host's memory cost what the bus takes, and so does each
row of them, of which a search reads few edges; and of the boundary, one value travels for each mirror, in
each exchange, which itself takes some time. Elements compute at the same time, and each sends when it is
done, so the last to have sent counts.

What is carried by an algorithm that skips edges, as all do but PageRank, hangs on what it finds. So where CPU
and GPU run it together, what they take beside computing goes by the graph's size, mirrors and the CPU's
vertices, as measured; and what a CPU's kernels take for a mirror is told apart from what they take for a
vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.partition.column_blocks import BYTES_AN_EDGE, spare
from evener.partition.partition import LONG_RUN, NEARLY_ALL
from evener.planning.prediction import ElementPrediction, Prediction
from evener.planning.rates import as_long

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.rates import Rates

__all__ = [
    "TRAVELS",
    "Degrees",
    "Part",
    "Share",
    "Travels",
    "owned_by_degree",
    "parts_of",
    "predict",
    "totem_speedup",
]


class Travels(NamedTuple):
    """What travels in a pass of an algorithm, in bytes.

    Attributes
    ----------
    pushed : float
        Of each mirror to its owner.
    pulled : float
        To each mirror from its owner.
    whole : bool
        Whether all values are pulled, which need not be picked out where they lie in a row.
    """

    pushed: float
    pulled: float
    whole: bool = False


# The contribution; a parent where one is offered, a bit for each step up; a label; a lowered distance with
# its position, taken to be lowered twice; paths and dependencies, once each. In 24 splits of R-MAT 18, 20 and
# 22 three steps up found most vertices: medians of 16 searches pushed 0.001 to 0.22 bytes a mirror, the most
# that one did is 3.4. In ten of R-MAT 16 and 18 labels took 4.00, distances 13 to 18, betweenness 18 to 25.
TRAVELS = {
    "pagerank": Travels(0.0, 4.0, whole=True),
    "bfs": Travels(0.1, 3 / 8),
    "wcc": Travels(0.0, 4.0, whole=True),
    "sssp": Travels(16.0, 0.0),
    "betweenness": Travels(8.0, 8.0),
}


# The part of the vertices with edges that by chance has mirrors, where nearly all of them turn out to:
# more of those of low degree have a hub for a neighbour than if ends of edges met by chance. R-MAT 18 and 20:
# 0.84 to 0.87 where all but a few have mirrors, 0.79 where three in four have.
_FORESEEN = 0.82


@dataclass(frozen=True, slots=True)
class Part:
    """The sizes of a partition.

    Attributes
    ----------
    vertices : int
        That it owns.
    connected : int
        Those of them that have an edge.
    mirrors : int
        Of vertices that others own.
    elsewhere : int
        Mirrors that others have of its vertices.
    edges : int
        Of all directions stored.
    in_a_row : int
        Those of the mirrors elsewhere whose values travel as they lie; the others' are picked out first.
    """

    vertices: int
    connected: int
    mirrors: int
    elsewhere: int
    edges: int
    in_a_row: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What one element gets of a graph.

    Attributes
    ----------
    element : str
        Its name.
    kind : str
        "cpu" or "cuda".
    threads : int
        Of a CPU element.
    part : Part
    mapped : int
        The edges that lie in the host's memory, of a GPU.
    columns : bool
        Whether a GPU has room for its edges a second time, in blocks of columns.
    mapped_rows : int
        The rows that they are of.
    bare_long, bare_short : int
        Those of them that are of in-edges, and of which the GPU keeps no head: long ones and short ones.
    """

    element: str
    kind: str
    threads: int
    part: Part
    mapped: int = 0
    columns: bool = True
    mapped_rows: int = 0
    bare_long: int = 0
    bare_short: int = 0

    @classmethod
    def all_of(cls, placed: PartitionedGraph) -> list[Share]:
        """What each element has of a graph that is placed."""
        shares = []
        for p, (element, own) in enumerate(zip(placed.elements, placed.partitions, strict=True)):
            elsewhere = placed.mirrors_of(p)
            in_a_row = sum(len(r) for r in placed.routes if r.owner == p and r.first is not None)
            part = Part(own.owned, own.connected, own.mirrors, elsewhere, own.stored_edges, in_a_row)
            made = [edges.prepared["columns"] for edges in own.directions if "columns" in edges.prepared]
            if made:  # or found not to be worth it
                columns = any(one is not None for one in made)
            else:
                enough = BYTES_AN_EDGE * own.stored_edges
                columns = spare(own, element, elsewhere) >= enough
            of_host = own.mapped_edges, columns, own.mapped_rows, own.bare_long, own.bare_short
            shares.append(cls(element.name, element.kind, element.threads, part, *of_host))
        return shares


@dataclass(frozen=True, slots=True)
class Degrees:
    """A graph's vertices by degree, descending: how many there are of each, and with how many edges.

    Attributes
    ----------
    degree, count : ndarray of int64
        By all edges, as policies deal vertices out.
    stored : ndarray of float64
        The edges stored with the vertices of each degree.
    met : ndarray of float64
        How often these vertices are the neighbours at the other ends of stored edges.
    edges : int
        The sum of degrees.
    """

    degree: NDArray[np.int64]
    count: NDArray[np.int64]
    stored: NDArray[np.float64]
    met: NDArray[np.float64]
    edges: int

    @classmethod
    def of(
        cls,
        degree: NDArray[np.unsignedinteger],
        stored: NDArray[np.unsignedinteger] | None = None,
        met: NDArray[np.unsignedinteger] | None = None,
    ) -> Degrees:
        """Count the vertices of each degree; `stored` and `met` are as `degree` where they are not given."""
        by = degree.astype(np.int64)
        counts = np.bincount(by, minlength=1)
        present = np.flatnonzero(counts)[::-1]
        of_all = (present * counts[present]).astype(np.float64)
        own = of_all if stored is None else np.bincount(by, stored, minlength=1)[present].astype(np.float64)
        others = of_all if met is None else np.bincount(by, met, minlength=1)[present].astype(np.float64)
        return cls(present, counts[present], own, others, int(of_all.sum()))

    @property
    def each_stored(self) -> NDArray[np.float64]:
        """The edges stored with one vertex of each degree."""
        return self.stored / self.count


def owned_by_degree(degrees: Degrees, policy: str, shares: Sequence[float]) -> NDArray[np.float64]:
    """How many vertices of each degree each partition owns, when they get these shares of the edges."""
    parts = np.empty((len(shares), len(degrees.count)))
    if policy == "random" or degrees.edges == 0:
        parts[:] = np.outer(shares, degrees.count)
    else:
        order = slice(None) if policy == "high" else slice(None, None, -1)
        count, each = degrees.count[order].astype(float), degrees.degree[order].astype(float)
        ends = np.cumsum(count * each)
        cuts = np.concatenate([[0.0], np.cumsum(shares)]) * ends[-1]
        cuts[-1] = ends[-1]
        begins = ends - count * each
        for p in range(len(shares)):
            inside = np.minimum(ends, cuts[p + 1]) - np.maximum(begins, cuts[p])
            parts[p] = np.where(each > 0, np.maximum(inside, 0) / np.maximum(each, 1), 0)[order]
        # Vertices without edges go with the others of low degree.
        given = np.flatnonzero(np.asarray(shares) > 0)
        parts[given[-1 if policy == "high" else 0], degrees.degree == 0] += degrees.count[degrees.degree == 0]
    return parts


def parts_of(
    degrees: Degrees, owned: NDArray[np.float64], mirrored: NDArray[np.float64] | None = None
) -> list[Part]:
    """The sizes of partitions that own so many vertices of each degree: see `owned_by_degree`.

    `mirrored` is the part of the vertices of each that has mirrors at each other, as `Neighbours.mirrored`
    tells it. Where it is not known, a neighbour of the edges of a partition is taken to be any vertex, as
    often as it is one in the whole graph: so one that f of the M stored edges lead to, and that is owned
    elsewhere, has a mirror unless all E edges of the partition miss it: a chance of exp(-E f / M).
    """
    mine = owned @ degrees.each_stored
    met = 1 - np.exp(-np.outer(mine, degrees.met / degrees.count) / max(degrees.stored.sum(), 1))
    mirrors = owned @ met.T  # [p, q]: of the vertices of p, at q
    np.fill_diagonal(mirrors, 0)
    # Vertices without edges are numbered after all others, so those with edges are one run.
    connected = owned[:, degrees.degree > 0].sum(axis=1)
    enough = _FORESEEN
    if mirrored is not None:
        enough = NEARLY_ALL
        mirrors = np.where(np.isnan(mirrored), mirrors, mirrored * connected[:, None])
    in_a_row = (mirrors >= LONG_RUN) & (mirrors >= enough * connected[:, None])
    mirrors = np.where(in_a_row, connected[:, None], mirrors)
    return [
        Part(
            round(own.sum()),
            round(connected[p]),
            round(mirrors[:, p].sum()),
            round(mirrors[p].sum()),
            round(float(mine[p])),
            round(mirrors[p, in_a_row[p]].sum()),
        )
        for p, own in enumerate(owned)
    ]


def predict(
    shares: Sequence[Share], algorithm: str, rates: Rates, *, passes: float = 1.0, cpu_takes: float = 1.0
) -> Prediction:
    """How long a run will take (equations 1 and 2), if CPUs take so many times what was measured."""
    kinds = {share.kind for share in shares}
    # Elements of one CPU share its memory, and what they exchange is not foreseen.
    exchanges = len(shares) > 1 and kinds != {"cpu"}
    # While a GPU reads the host's memory a CPU takes longer for the same.
    on_cpu = {**rates.cpu, **(rates.beside if any(share.mapped for share in shares) else {})}
    carried = rates.carried.get(algorithm) if len(kinds) > 1 else None
    # Mirrors of and on a CPU: what GPUs send one another takes little beside that.
    cpus = [one.part for one in shares if one.kind == "cpu"]
    across = sum(part.mirrors + part.elsewhere for part in cpus)
    connected = sum(share.part.connected for share in shares)
    of_cpu = sum(part.vertices for part in cpus)
    travels = TRAVELS[algorithm]
    elements = []
    for share in shares:
        part = share.part
        sizes = part.edges, part.connected, part.mirrors
        if share.kind == "cpu":
            # A CPU that leaves no core to a GPU has one more than was measured. Without counting on it,
            # PageRank on R-MAT 26 was foreseen to take 413 ms an iteration; it took 16 cores 381.
            threads = min(share.threads, max(rates.machine.get("cores", 0), rates.threads))
            rate = on_cpu[algorithm] if carried is None else rates.shares[algorithm]
            compute = rate.seconds(*sizes)
            compute *= rates.threads / threads * cpu_takes
        else:
            in_columns = share.columns and not share.mapped
            rate = rates.gpu[algorithm] if in_columns else rates.pulled.get(algorithm, rates.gpu[algorithm])
            compute = rate.seconds(*sizes)
            bare = as_long(share.bare_long, share.bare_short)
            compute += rates.mapped[algorithm].seconds(share.mapped, share.mapped_rows, bare)
        copied = part.in_a_row if travels.whole else 0
        picked = part.mirrors * travels.pushed + (part.elsewhere - copied) * travels.pulled
        exchange = 0.0
        if carried is not None:
            exchange = carried.seconds(connected, across, of_cpu)
        elif exchanges:
            exchange += picked / rates.bytes_per_second[share.kind]
            exchange += copied * travels.pulled / rates.copied_bytes_per_second
            exchange += rates.supersteps[algorithm] * rates.exchange_seconds
        elements.append(ElementPrediction(share.element, passes * compute, passes * exchange))
    slowest = max(e.compute_seconds + e.exchange_seconds for e in elements)
    return Prediction(tuple(elements), slowest, beside_computing=carried is not None)


def totem_speedup(alpha: float, beta: float, r_cpu: float, c: float) -> float:
    """Equation 4 of T12 as it stands: the speed-up of a CPU and a GPU over the CPU alone.

    Parameters
    ----------
    alpha : float
        Share of the edges on the CPU.
    beta : float
        Share of the edges that cross, after aggregation.
    r_cpu, c : float
        Edges a second on the CPU, and between the two.
    """
    return (1 / r_cpu) / (beta / c + alpha / r_cpu)
