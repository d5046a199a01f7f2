"""Rates: how fast this machine's elements run each algorithm, and how fast values travel between them.

These are T12's r and c, measured once by `evener.profile.calibrate` and kept in the user's cache directory
under a fingerprint of the hardware and the versions.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import FileError
from evener.system.cache import cache_folder
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Carried", "Mapped", "Rate", "Rates", "as_long", "keep", "kept", "place_of"]

# The part of what one takes on the largest graph measured that one more takes beyond it, at least. For an
# H200's searches it was 0.31 by vertices and 0.25 by edges from R-MAT 22 to 24, and 0.6 and 0.7 by vertices
# from 24, the largest, to 26.
_EACH_MORE = 0.6
# So many short rows without a head take a search as long as one long row without: they lie side by side, so
# that several come across the bus at once. An H200 took 0.28 ns for each of R-MAT 26, where the CPU had the
# hubs, and 1.33 for each of the long ones, of 8 edges or more.
_SHORT_TO_A_LONG = 5


def as_long(long: int, short: int) -> float:
    """How many long rows without a head take as long as these long and these short ones."""
    return long + short / _SHORT_TO_A_LONG


@dataclass(frozen=True, slots=True)
class Rate:
    """How long one element takes for an algorithm, by what it is given.

    Attributes
    ----------
    vertices : tuple of int
        Sizes of the graphs it was measured on, in vertices that have an edge, ascending: the more, the fewer
        of their values lie in a cache. The largest graph of a calibration has four edges for each vertex,
        and counts as many vertices as would have one with 16.
    edge_seconds, vertex_seconds : tuple of float
        Seconds for each edge, and for each vertex that has one, at each of these sizes.
    least_edge_seconds : tuple of float
        A bound from below, for partitions with few vertices. Where a pass skips edges it is what an edge
        takes if vertices take nothing.
    fixed_seconds : float
        What a run takes however little it has to do.
    mirrors : tuple of int
        How many mirrors there were on graphs of other sizes, ascending, where they were told apart from
        vertices.
    mirror_seconds : tuple of float
        Seconds for each of them then. For all of a search's in a share of hubs, 15 CPU cores beside an H200
        took 0.5, 1.0, 1.8 and 2.4 ms with 0.1, 1.6, 5.9 and 12.1 million, and mostly 3 to 5 ms with 28.
    thin_seconds : tuple of float
        What a vertex takes beside that, to be divided by the mean number of edges, at each of these sizes:
        for edges looked at in vain, by what is done with a vertex once it has found one, as sparse graphs
        have more of them.
    """

    vertices: tuple[int, ...]
    edge_seconds: tuple[float, ...]
    vertex_seconds: tuple[float, ...]
    least_edge_seconds: tuple[float, ...]
    fixed_seconds: float
    mirrors: tuple[int, ...] = ()
    mirror_seconds: tuple[float, ...] = ()
    thin_seconds: tuple[float, ...] = ()

    def seconds(self, edges: float, vertices: float, mirrors: float = 0) -> float:
        """The time for so many edges, vertices that have one, and mirrors.

        A search that skips most edges of a whole graph seems to take time for vertices alone. A partition of
        hubs has next to none, but the edges are no cheaper for that.
        """
        at = vertices + mirrors  # whose values it reads

        def each(values: tuple[float, ...]) -> float:
            """At this size; no more than on the largest graph that was measured.

            PageRank on 15 cores of two hosts, R-MAT 22, 24 and 26: an edge 0.14, 0.16 and 0.16 ns on one,
            0.10, 0.16 and 0.20 on the other; a vertex 0.5, 1.0 and 1.3 ns, and 1.2, 2.1 and 1.2. Vertices'
            times were disturbed so much that their line is not followed upwards.
            """
            found = _between(self.vertices, values, at)
            return min(found, values[-1]) if at > self.vertices[-1] else found

        each_vertex = each(self.vertex_seconds)
        told = edges * _between(self.vertices, self.edge_seconds, at) + vertices * each_vertex
        least = edges * _between(self.vertices, self.least_edge_seconds, at)
        if self.mirrors:
            told += _all_of(self.mirrors, self.mirror_seconds, mirrors)
        if self.thin_seconds and edges:
            told += vertices**2 / edges * _between(self.vertices, self.thin_seconds, at)
            # What has found an edge reads no other. Where few edges tell all of the time, nobody knows more.
            if each_vertex > 0:
                least = min(least, at * each_vertex)
        return self.fixed_seconds + max(told, least)


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a GPU takes longer for what lies in the host's memory.

    A search reads few of the edges there, of many rows: its time goes by these rather, and by those of which
    it has no head. So it is with components, which begin with the first two edges of each row.

    Attributes
    ----------
    edge_seconds, row_seconds : float
        For each edge that lies there, and for each row that has one.
    bare_row_seconds : float
        Beside that for each long row of which the GPU keeps no head, where an algorithm reads heads. A search
        took an H200 1.5 ns on R-MAT 24, and on R-MAT 26 1.7 to 1.9 where it had the hubs, 1.3 where the CPU
        had them.
    """

    edge_seconds: float
    row_seconds: float
    bare_row_seconds: float = 0.0

    def seconds(self, edges: float, rows: float, bare_rows: float = 0) -> float:
        """The time for so many edges, the rows that they are of, and those of these without a head."""
        return edges * self.edge_seconds + rows * self.row_seconds + bare_rows * self.bare_row_seconds


@dataclass(frozen=True, slots=True)
class Carried:
    """What a pass takes on CPU and GPU beside what they compute.

    How often an algorithm that skips edges carries values, and how many, hangs on what it finds.

    Attributes
    ----------
    sizes : tuple of int
        Of the graphs it was measured on, as in `Rate.vertices`: on a small one a search has fewer levels,
        and all lies in caches.
    fixed_seconds : tuple of float
        What a pass takes anyhow, at each of these sizes, and between them and beyond the last by their
        logarithm. It goes by the graph and not by the split: in searches of R-MAT 26 an H200 and 15 cores
        took 10.5 ms beside computing where a twentieth of the edges, hubs', made 13 million mirrors, 10.1
        where a half made 28 million, and 9.2 where four fifths made 33 million.
    mirror_seconds : float
        For each mirror, on whichever element: what it takes to copy its values once.
    vertex_seconds : float
        For each vertex of the CPU, with edges or without: its state is made before the run.
    """

    sizes: tuple[int, ...]
    fixed_seconds: tuple[float, ...]
    mirror_seconds: float
    vertex_seconds: float

    def seconds(self, size: float, mirrors: float, of_cpu: float) -> float:
        """The time for a graph of this size, mirrors on all elements, and those of its vertices on the CPU.

        `size` counts vertices that have an edge, `of_cpu` all.
        """
        fixed = _between(self.sizes, self.fixed_seconds, size)
        return fixed + mirrors * self.mirror_seconds + of_cpu * self.vertex_seconds


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one machine.

    Attributes
    ----------
    machine : mapping
        What the fingerprint was taken of.
    threads : int
        Of the CPU element that was measured.
    cpu, gpu : mapping of str to Rate
        By algorithm; `gpu` with all edges in the GPU's memory, empty where there is none. A pass of PageRank
        is one iteration, of the others a whole run from one source.
    pulled : mapping of str to Rate
        Of a GPU without room for blocks of columns, for the algorithms that take them: PageRank.
    beside : mapping of str to Rate
        Of the CPU while a GPU reads the same memory, for the algorithms that read every edge: PageRank.
    shares : mapping of str to Rate
        Of the CPU's kernels beside a GPU, for the other algorithms.
    carried : mapping of str to Carried
        What these take beside their kernels then.
    mapped : mapping of str to Mapped
        What a GPU takes longer for edges in the host's memory, by algorithm; empty where there is none.
    supersteps : mapping of str to float
        How many a pass has.
    bytes_per_second : mapping of str to float
        Of values on their way between the memories of CPU and GPU, that an element of this kind picks out
        first; empty where there is no GPU.
    copied_bytes_per_second : float
        Of values that travel as they lie.
    exchange_seconds : float
        What an exchange between them takes however few values travel.
    """

    machine: Mapping[str, Any]
    threads: int
    cpu: Mapping[str, Rate]
    gpu: Mapping[str, Rate]
    pulled: Mapping[str, Rate]
    beside: Mapping[str, Rate]
    shares: Mapping[str, Rate]
    carried: Mapping[str, Carried]
    mapped: Mapping[str, Mapped]
    supersteps: Mapping[str, float]
    bytes_per_second: Mapping[str, float]
    copied_bytes_per_second: float
    exchange_seconds: float


def place_of(machine: Mapping[str, Any]) -> Path | None:
    """Where the rates of a machine are kept; None where nothing can be."""
    cache = cache_folder()
    return cache and cache / "evener" / "rates" / f"{_digest(machine)[:16]}.json"


def _digest(document: Mapping[str, Any]) -> str:
    """A fingerprint of its contents, in whatever order."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def keep(rates: Rates) -> None:
    """Write the rates to the user's cache directory, whole or not at all.

    Raises
    ------
    FileError, OSError
        If there is no such directory, or nothing can be written there.
    ValueError
        If nobody can have measured them.
    """
    _require_sense(rates)
    place = place_of(rates.machine)
    if place is None:
        raise FileError("the user has no home directory; set XDG_CACHE_HOME to a folder's absolute path")
    place.parent.mkdir(parents=True, exist_ok=True)
    document = asdict(rates)
    content = {"sha256": _digest(document), "rates": document}
    with atomic_write(place) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def kept(machine: Mapping[str, Any]) -> Rates | None:
    """The rates that were measured on this machine before; None if there are none as they were written.

    None as well if nobody can have measured them.
    """
    place = place_of(machine)
    if place is None:
        return None
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        document = content["rates"]
        if _digest(document) != content["sha256"] or _digest(document["machine"]) != _digest(machine):
            return None
        for tier in ("cpu", "gpu", "pulled", "beside", "shares"):
            document[tier] = {name: _rate(rate) for name, rate in document[tier].items()}
        document["mapped"] = {name: Mapped(**more) for name, more in document["mapped"].items()}
        document["carried"] = {name: _carried(more) for name, more in document["carried"].items()}
        rates = Rates(**document)
        _require_sense(rates)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return rates


def _rate(document: dict[str, Any]) -> Rate:
    """The rate that is written there."""
    return Rate(
        tuple(document["vertices"]),
        tuple(document["edge_seconds"]),
        tuple(document["vertex_seconds"]),
        tuple(document["least_edge_seconds"]),
        document["fixed_seconds"],
        tuple(document["mirrors"]),
        tuple(document["mirror_seconds"]),
        tuple(document["thin_seconds"]),
    )


def _carried(document: dict[str, Any]) -> Carried:
    """As `_rate`."""
    return Carried(
        tuple(document["sizes"]),
        tuple(document["fixed_seconds"]),
        document["mirror_seconds"],
        document["vertex_seconds"],
    )


def _require_sense(rates: Rates) -> None:
    """Refuse rates that nobody can have measured, with ValueError."""
    for tier in (rates.cpu, rates.gpu, rates.pulled, rates.beside, rates.shares):
        for rate in tier.values():
            each = [rate.edge_seconds, rate.vertex_seconds, rate.least_edge_seconds]
            each += [rate.thin_seconds] if rate.thin_seconds else []
            _require_sizes(rate.vertices, *each)
            if rate.mirrors or rate.mirror_seconds:
                _require_sizes(rate.mirrors, rate.mirror_seconds)
            _require_seconds([*chain.from_iterable(each), *rate.mirror_seconds, rate.fixed_seconds])
    for more in rates.mapped.values():
        _require_seconds([more.edge_seconds, more.row_seconds, more.bare_row_seconds])
    for carried in rates.carried.values():
        _require_sizes(carried.sizes, carried.fixed_seconds)
        _require_seconds([*carried.fixed_seconds, carried.mirror_seconds, carried.vertex_seconds])
    _require_seconds([rates.exchange_seconds])
    some = [rates.threads, *rates.supersteps.values(), *rates.bytes_per_second.values()]
    # Where there is nothing to copy to, copies are endlessly fast.
    copied = rates.copied_bytes_per_second
    if not all(0 < one < math.inf for one in some) or not copied > 0:
        msg = f"threads, supersteps and bytes a second are more than none, and not {[*some, copied]}"
        raise ValueError(msg)


def _require_sizes(sizes: Sequence[int], *each: Sequence[float]) -> None:
    """Refuse sizes of graphs that nobody can have measured one after the other, each with a time."""
    if not sizes or not all(one < other for one, other in pairwise((0, *sizes))):
        msg = f"no rates are measured on graphs of these sizes: {sizes}"
        raise ValueError(msg)
    if any(len(seconds) != len(sizes) for seconds in each):
        msg = f"each of these sizes of graphs has its times, {sizes}, and these do not: {each}"
        raise ValueError(msg)


def _require_seconds(seconds: Sequence[float]) -> None:
    """Refuse times that nobody can have measured."""
    if not all(0 <= one < math.inf for one in seconds):
        msg = f"nothing takes these times: {seconds}"
        raise ValueError(msg)


def _between(places: tuple[int, ...], values: tuple[float, ...], at: float) -> float:
    """The value at a size, on straight lines over the logarithm of sizes.

    Below the first it is that of the first. Above the last the last line goes on if it rises. If it falls,
    what all take goes on along a line: what a search takes for each level, however large, is the less for a
    vertex the more there are. An H200 took 0.20 ns each for those of R-MAT 22, 0.07 for those of 24, and 0.04
    for those of 26. Nothing becomes free because a graph is large, whatever the line says.
    """
    if at <= places[0] or len(places) == 1:
        return values[0]
    k = next((k for k in range(1, len(places)) if at <= places[k]), len(places) - 1)
    before, last, step = places[k - 1], places[k], values[k] - values[k - 1]
    if at > last and step < 0:
        each_more = _one_more(places, values)
        return each_more + (values[k] - each_more) * last / at
    return values[k - 1] + math.log(at / before) / math.log(last / before) * step


def _all_of(counts: tuple[int, ...], each: tuple[float, ...], count: float) -> float:
    """What so many take, on straight lines from none through what these counts took at so much for each.

    More never take less. Beyond the last count one more takes no longer than each of these did.
    """
    took = accumulate((n * seconds for n, seconds in zip(counts, each, strict=True)), max)
    beyond = max(count - counts[-1], 0) * min(_one_more(counts, each), each[-1])
    return float(np.interp(count, (0, *counts), (0.0, *took))) + beyond


def _one_more(counts: tuple[int, ...], each: tuple[float, ...]) -> float:
    """What one more takes beyond the last count: as on the last line of what all take, or `_EACH_MORE`."""
    if len(counts) == 1:
        return each[-1]
    (before, last), (former, latter) = counts[-2:], each[-2:]
    return max((latter * last - former * before) / (last - before), _EACH_MORE * latter)
