"""Profiling this machine: the rates that plans go by, measured by running the algorithms on small graphs.

T12 and T13 take r, the edges a second of each processor, and c, those that cross between them, from
benchmarks of the machine. Here each algorithm runs on R-MAT graphs of two or three sizes, each with many
edges a vertex and with few, so that what an edge costs can be told from what a vertex costs, and how both
grow with the graph; on a GPU, again with half of the edges in the host's memory and with seven eighths,
searches and components without heads as well, and PageRank without room for blocks of columns; on CPU and
GPU together; and on the CPU of a large machine, alone and beside a GPU, PageRank and searches on one more
graph, or two, whose values fit no cache.
"""

from __future__ import annotations

import logging
import statistics
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements import parse_elements, usable_cores
from evener.elements.hardware import described
from evener.errors import DeviceError, DeviceOutOfMemory
from evener.graph.generators import models as generate
from evener.link import copy_speed, exchange_speeds
from evener.measured import Measured
from evener.partition.column_blocks import BYTES_AN_EDGE
from evener.partition.footprint import beside_edges
from evener.partition.place import partition
from evener.passes import FROM_A_SOURCE, LOOK_UP, PASSES, READ_ALL, READ_FIRST, SKIP_SOME, repeated
from evener.planning.fit import Sample
from evener.planning.model import Degrees, owned_by_degree, parts_of
from evener.planning.rates import Rates, as_long, keep, kept, place_of
from evener.system import memory
from evener.system.lock import file_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.passes import Run

__all__ = ["calibrate", "machine", "measuring_alone", "rates_kept", "rates_of_this_machine"]

_log = logging.getLogger("evener")

# How rates are measured and fitted: another number where they would come out otherwise, so that those kept
# from before are not gone by.
_METHOD = 16
# Sizes of the graphs: the smallest one's values fit most caches, the next one's do not. A third is measured
# where so many cores share caches that the next one's still do: the values and state of R-MAT 22 are 100 MB,
# the last cache of a 16-core share of a server 300 MiB.
_SCALES = (18, 22, 24)
_CORES_FOR_ALL = 16
# Edges for each vertex, before doubling.
_MANY, _FEW = 16, 2
# Scale, and edges for each vertex, of two graphs for what reads every edge, on a CPU where all of these are
# measured: as large as those that do not fit a GPU, with fewer edges so that they are soon made; the second
# alone for what looks up, and where shares of it are measured. Those of R-MAT 26 took PageRank on 15 cores
# some 0.15 ns an edge and 2.3 ns a vertex, R-MAT 24 0.14 and 1.2 ns.
_BEYOND, _BEYOND_EDGES = 26, (1, 4)
# Vertices that searches are run from, in turn: as many as there are repeats at most.
_SOURCES = 25
# The share of the edges that a CPU gets beside a GPU: of many vertices, and of few.
_SHARES = {"low": 0.1, "high": 0.2}
# The parts of the edges of the largest graph that lie in the host's memory: of hubs' rows alone, and of many.
_MAPPED = (1 / 2, 7 / 8)
# Bytes of an edge of these graphs: weights are int32.
_TARGET_AND_WEIGHT = 8


def machine(*, with_gpus: bool = True) -> dict[str, Any]:
    """What rates depend on: see `evener.elements.hardware.described`, and how they are measured."""
    return described(with_gpus=with_gpus) | {"method": _METHOD}


def rates_kept(*, with_gpus: bool = True) -> Rates | None:
    """The rates kept for this machine, if it has been measured."""
    if not with_gpus:
        with suppress(DeviceError):  # what was measured with them does for the CPU as well
            return kept(machine()) or kept(machine(with_gpus=False))
    return kept(machine(with_gpus=with_gpus))


def rates_of_this_machine(gpu: str | None = "cuda:0") -> Rates:
    """The rates kept for this machine; measured now, which takes a few minutes, if there are none.

    That is told to the log "evener": once as a warning, and each step. `gpu` is the one to measure, which
    stands for all; None where no rates of GPUs are needed. Another process that is measuring is waited for.
    """
    found = rates_kept(with_gpus=gpu is not None)
    if found is not None:
        return found
    with measuring_alone():
        found = rates_kept(with_gpus=gpu is not None)  # those of a process that was waited for
        if found is None:
            _log.warning("measuring this machine, once, for a few minutes: plans go by its rates")
            found = calibrate(gpu, say=lambda step: _log.info("measuring this machine, once: %s", step))
    return found


@contextmanager
def measuring_alone() -> Iterator[None]:
    """Wait until no other process measures this machine, for each would slow the other.

    That is told to the log "evener". Where nothing can be written beside the rates, nobody is waited for.
    """
    with ExitStack() as held:
        # Who measures the CPU alone waits for who measures it with GPUs.
        place = place_of(machine(with_gpus=False))
        if place is not None:
            told = "another process is measuring this machine, for a few minutes: waiting until it is done"
            held.enter_context(file_lock(place.with_suffix(".lock"), on_wait=lambda: _log.warning(told)))
        yield


def calibrate(gpu: str | None = "cuda:0", *, say: Callable[[str], None] | None = None) -> Rates:
    """Measure this machine and keep its rates in the user's cache directory: see `measuring_alone` as well.

    Parameters
    ----------
    gpu : str, optional
        The GPU to measure, which stands for all, if the machine has any. None measures the CPU alone.
    say : callable, optional
        Called with a line for each step.

    Returns
    -------
    Rates

    Raises
    ------
    DeviceError, DeviceOutOfMemory
        If there is a GPU that cannot be used, or that has too little room to be measured, or if what was
        measured makes no sense.
    """
    say = say or (lambda _: None)
    here = machine(with_gpus=gpu is not None)
    on_gpu = gpu if here["gpus"] else None
    # Beside a GPU the CPU element leaves it a core, so it is measured without that core.
    cpu = parse_elements("cpu" if on_gpu is None else f"cpu,{on_gpu}")[0]
    on_cpu = f"cpu:{cpu.threads}"
    measured = Measured(_scales(on_gpu))
    if on_gpu is not None:
        _require_room(on_gpu, measured.scales[-1], _MANY)
    for scale, factor in product(measured.scales, (_FEW, _MANY)):
        _measure(measured, scale, factor, on_cpu, on_gpu, say)
    if len(measured.scales) == len(_SCALES) and _in_memory(_BEYOND, max(_BEYOND_EDGES)):
        _measure_beyond(measured, on_cpu, on_gpu, say)
    speeds: dict[str, float] = {}
    copied, delay = float("inf"), 0.0
    if on_gpu is not None:
        speeds, delay = exchange_speeds(f"{on_cpu},{on_gpu}")
        copied = copy_speed(*parse_elements(f"{on_cpu},{on_gpu}"))
    rates = Rates(
        machine=here,
        threads=cpu.threads,
        cpu={name: measured.rate(name, "cpu") for name in PASSES},
        gpu={name: measured.rate(name, "gpu") for name in PASSES} if on_gpu else {},
        pulled={name: measured.rate(name, "pulled") for name in READ_ALL} if on_gpu else {},
        beside={name: measured.rate(name, "beside") for name in READ_ALL} if on_gpu else {},
        shares={name: measured.rate(name, "search") for name in SKIP_SOME} if on_gpu else {},
        carried={name: measured.carried(name, copied) for name in SKIP_SOME} if on_gpu else {},
        mapped={name: measured.mapped(name) for name in PASSES} if on_gpu else {},
        supersteps=measured.supersteps,
        bytes_per_second=speeds,
        copied_bytes_per_second=copied,
        exchange_seconds=delay,
    )
    try:
        keep(rates)
    except ValueError as error:
        msg = (
            f"what was measured on this machine makes no sense: {error}; end what else is running there, and "
            "measure it again with evener profile"
        )
        raise DeviceError(msg) from error
    except OSError as error:
        _log.warning("the rates of this machine cannot be kept: %s", error)
    return rates


def _require_room(on_gpu: str, scale: int, factor: int) -> None:
    """Refuse to measure a GPU that others fill: edges would stay with the host, and the rates be wrong."""
    needed, room = _room(on_gpu, scale, factor)
    if needed > room:
        msg = (
            f"{on_gpu} has room for {memory.format_bytes(room)}, and measuring it for plans takes "
            f"{memory.format_bytes(needed)}; end what else is running there, or name the elements, "
            'as in on="cpu"'
        )
        raise DeviceOutOfMemory(msg, needed=needed, available=room)


def _room(on_gpu: str, scale: int, factor: int) -> tuple[int, int]:
    """Bytes that a graph takes there, in blocks of columns as well, and bytes that there are."""
    n, m = 1 << scale, 2 * factor << scale
    room = parse_elements(on_gpu)[0].room() or 0
    return beside_edges(n, 0, 0, m, directions=1) + m * (_TARGET_AND_WEIGHT + BYTES_AN_EDGE), room


def _drawn(graph: Graph) -> list[Any]:
    """Vertices to search from, for searches from some take twice as long as those from others.

    They have two neighbours or more: of those that have one, some lie in a component of two.
    """
    candidates = np.flatnonzero(graph.out_degree() > 1)
    count = min(_SOURCES, len(candidates))
    drawn: list[Any] = graph.ids[np.random.default_rng(5).choice(candidates, count, replace=False)].tolist()
    return drawn


def _measure(
    measured: Measured, scale: int, factor: int, on_cpu: str, on_gpu: str | None, say: Callable[[str], None]
) -> None:
    """Run every algorithm on one graph, in each tier of memory."""
    say(f"a graph of {1 << scale:,} vertices")
    graph = generate.rmat(scale, edge_factor=factor, weights="1..255")
    connected = int(np.count_nonzero(graph.out_degree()))
    # Elements, and the bytes there are for edges.
    tiers: list[tuple[str, str, int | None]] = [("cpu", on_cpu, None)]
    if on_gpu is not None:
        edges = graph.m * _TARGET_AND_WEIGHT
        tiers += [("gpu", on_gpu, None), ("pulled", on_gpu, edges)]
        if (scale, factor) == (measured.scales[-1], _MANY):
            tiers += [("mapped", on_gpu, int(edges * (1 - far))) for far in _MAPPED]
            tiers.append(("bare", on_gpu, int(edges * (1 - _MAPPED[-1]))))
    sources = _drawn(graph)
    beside = beside_edges(graph.n, 0, 0, graph.m, directions=1)
    for tier, on, room in tiers:
        say(f"{tier} on {graph!r}")
        # Of one direction no heads are kept.
        directions = "in" if tier == "bare" else "both"
        gpu_memory = None if room is None else beside + room
        placed = partition(graph, on, gpu_memory=gpu_memory, directions=directions)
        own = placed.partitions[0]
        for name in {"pulled": READ_ALL, "bare": READ_FIRST}.get(tier, PASSES):
            passes = PASSES[name][1]
            runs = _runs_of(placed, name, sources)
            seconds = statistics.median(one.seconds for one in runs) / passes
            if tier in ("mapped", "bare"):
                # Without a head others take no longer.
                bare = as_long(own.bare_long, own.bare_short) if name in READ_FIRST else 0.0
                measured.in_host_memory[name].append((own.mapped_edges, own.mapped_rows, bare, seconds))
            else:
                measured.samples[name, tier].append(Sample(scale, connected, connected, graph.m, seconds))
            if tier == "cpu" and name in SKIP_SOME:
                computes = statistics.median(one.first_computes for one in runs) / passes
                measured.samples[name, "search"].append(
                    Sample(scale, connected, connected, graph.m, computes)
                )
            if on_gpu is None:
                measured.supersteps[name] = runs[0].supersteps / passes
        del placed, own  # before the next one is made
    if on_gpu is not None and factor == _MANY:
        for tier, placed in _split(graph, on_cpu, on_gpu, say):
            _measure_share(measured, tier, scale, placed)
            if tier == "share":
                _measure_search(measured, scale, placed, sources, SKIP_SOME)
            elif scale == measured.scales[0]:
                _count_supersteps(measured, placed, sources[0])
            del placed  # before the next one is made


def _split(
    graph: Graph, on_cpu: str, on_gpu: str, say: Callable[[str], None]
) -> Iterator[tuple[str, PartitionedGraph]]:
    """The graph on both, first with a share for the CPU of many vertices, then with one of few; and the tier.

    Of the tier "share" the GPU holds its edges, if they fit. For "beside" it has room for as many mirrors as
    there may be, and for few edges: it reads the others from the host's memory while the CPU computes.
    """
    degrees = Degrees.of(graph.out_degree())
    for policy, alpha in _SHARES.items():
        own, other = parts_of(degrees, owned_by_degree(degrees, policy, (alpha, 1 - alpha)))
        room = beside_edges(graph.n - own.vertices, own.connected, other.connected, graph.m, directions=1)
        # Degrees tell how many vertices a share has to within a few.
        for tier, gpu_memory in (("share", None), ("beside", room + room // 50)):
            say(f"cpu, {tier}, {policy}, on {graph!r}")
            on = f"{on_cpu},{on_gpu}"
            yield tier, partition(graph, on, policy=policy, alpha=alpha, gpu_memory=gpu_memory)


def _measure_beyond(measured: Measured, on_cpu: str, on_gpu: str | None, say: Callable[[str], None]) -> None:
    """What reads every edge, and what looks up, on a CPU whose caches hold a small part of the values."""
    # How often each value is read, out of all reads, hangs on the scale, not on how many edges there are. So
    # the size is about that of a graph with as many edges a vertex as the others have.
    size = measured.samples[READ_ALL[0], "cpu"][-1].touched << (_BEYOND - measured.scales[-1])
    # With shares, what a vertex costs is told by these.
    for factor in _BEYOND_EDGES if on_gpu is None else _BEYOND_EDGES[-1:]:
        say(f"a graph of {1 << _BEYOND:,} vertices")
        graph = generate.rmat(_BEYOND, edge_factor=factor)
        connected = int(np.count_nonzero(graph.out_degree()))
        sources = _drawn(graph)
        placed = partition(graph, on_cpu)
        for name in (*READ_ALL, *(LOOK_UP if factor == _BEYOND_EDGES[-1] else ())):
            runs = _runs_of(placed, name, sources)
            seconds = statistics.median(one.seconds for one in runs) / PASSES[name][1]
            measured.samples[name, "cpu"].append(Sample(_BEYOND, size, connected, graph.m, seconds))
        del placed  # before the next one is made
        if on_gpu is not None:
            for tier, placed in _split(graph, on_cpu, on_gpu, say):
                _measure_share(measured, tier, _BEYOND, placed, size)
                if tier == "share":
                    _measure_search(measured, _BEYOND, placed, sources, LOOK_UP, size)
                del placed
        del graph


def _measure_share(
    measured: Measured, tier: str, scale: int, placed: PartitionedGraph, size: int | None = None
) -> None:
    """What a CPU's share takes."""
    own = placed.partitions[0]
    for name in READ_ALL:
        run, passes = PASSES[name]
        seconds = statistics.median(one.first_computes for one in repeated(run, placed)) / passes
        touched = own.connected + own.mirrors if size is None else size
        sample = Sample(scale, touched, own.connected, own.stored_edges, seconds)
        measured.samples[name, tier].append(sample)


def _measure_search(
    measured: Measured,
    scale: int,
    placed: PartitionedGraph,
    sources: Sequence[Any],
    names: Sequence[str],
    size: int | None = None,
) -> None:
    """What a CPU's kernels take of what skips edges, and what both take beside kernels."""
    own = placed.partitions[0]
    mirrors = sum(one.mirrors for one in placed.partitions)
    # A graph that stands for one of more edges has as many vertices to make a state for, and a search of it
    # more levels: ten of R-MAT 26 with 4 edges a vertex, eight with 16. With shares of hubs they took about
    # as long beside computing: 9.3 and 8.4 ms on one machine with an H200, 8.4 and 10.2 on another.
    whole = sum(one.connected for one in placed.partitions) if size is None else size
    visited = own.connected + own.mirrors if size is None else size
    for name in names:
        runs, passes = _runs_of(placed, name, sources, read=True), PASSES[name][1]
        computes = statistics.median(one.first_computes for one in runs) / passes
        sample = Sample(scale, visited, own.connected, own.stored_edges, computes, own.mirrors)
        measured.samples[name, "search"].append(sample)
        beside = statistics.median(one.beside_computing for one in runs) / passes
        measured.beside_computing[name].append((whole, mirrors, own.owned, beside))


def _runs_of(placed: PartitionedGraph, name: str, sources: Sequence[Any], *, read: bool = False) -> list[Run]:
    """Runs of an algorithm, from these sources if it has one; `read` is `repeated`'s."""
    return repeated(PASSES[name][0], placed, sources if name in FROM_A_SOURCE else (None,), read=read)


def _count_supersteps(measured: Measured, placed: PartitionedGraph, source: Any) -> None:
    """How often several elements exchange: one by itself takes many levels, or buckets, in one superstep."""
    for name, (run, passes) in PASSES.items():
        measured.supersteps[name] = run(placed, source).timeline.supersteps / passes


def _scales(on_gpu: str | None) -> tuple[int, ...]:
    """The sizes to measure: as large as they should be, or as an eighth of the memory allows."""
    smaller, larger, *largest = _SCALES
    while larger > smaller + 1 and not (_in_memory(larger) and _on_gpu(on_gpu, larger)):
        larger -= 1
    if usable_cores() < _CORES_FOR_ALL:
        largest.clear()
    return (smaller, larger, *(scale for scale in largest if _in_memory(scale) and _on_gpu(on_gpu, scale)))


def _in_memory(scale: int, factor: int = _MANY) -> bool:
    """Whether the edges of such a graph take an eighth of the memory at hand or less."""
    return (factor << scale) * 2 * _TARGET_AND_WEIGHT <= memory.available() / 8


def _on_gpu(on_gpu: str | None, scale: int) -> bool:
    """Whether a graph of this size fits the GPU, if there is one."""
    if on_gpu is None:
        return True
    needed, room = _room(on_gpu, scale, _MANY)
    return needed <= room
