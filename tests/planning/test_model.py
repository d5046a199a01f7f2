"""The performance model: the papers' equations, and sizes of partitions against those of real ones."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import evener as ev
from evener import FileError, profile
from evener.graph.generators import models as generate
from evener.measured import Measured
from evener.passes import PASSES
from evener.planning.fit import Sample, fitted, fitted_carried, fitted_mapped
from evener.planning.model import (
    TRAVELS,
    Degrees,
    Part,
    Share,
    owned_by_degree,
    parts_of,
    predict,
    totem_speedup,
)
from evener.planning.rates import Carried, Mapped, Rate, keep, kept, place_of
from evener.planning.sizes import Sizes
from given_rates import MACHINE, carries, flat, rates


def parts(degrees, policy, shares):
    return parts_of(degrees, owned_by_degree(degrees, policy, shares))


def cpu_share(edges, mirrors=0, elsewhere=0, threads=4):
    return Share("cpu", "cpu", threads, Part(100, 100, mirrors, elsewhere, edges))


def gpu_share(edges, mirrors=0, elsewhere=0, mapped=0):
    return Share("cuda:0", "cuda", 1, Part(100, 100, mirrors, elsewhere, edges), mapped)


# T13 figure 2, left: beta 5%, c 3 BE/s. By equation 4 with alpha 0.6 and r_cpu 1 BE/s: 1 / (0.05 / 3 + 0.6).
@pytest.mark.parametrize(
    ("alpha", "beta", "r_cpu", "c", "speedup"),
    [
        (0.6, 0.05, 1e9, 3e9, 1 / (0.05 / 3 + 0.6)),
        (1.0, 1.0, 1e9, 3e9, 0.75),  # every edge crosses and none leaves the CPU: slower
        (0.5, 0.02, 1e9, math.inf, 2.0),  # without cost of communication: 1 / alpha
    ],
)
def test_equation_4(alpha, beta, r_cpu, c, speedup):
    assert totem_speedup(alpha, beta, r_cpu, c) == pytest.approx(speedup)


def test_with_flat_rates_the_model_is_equations_1_and_2():
    """T12's own setting: a value of 4 bytes crosses for each mirror, the CPU finishes last."""
    edges, alpha, mirrors, c = 10**9, 0.6, 5 * 10**7, 3e9
    found = predict(
        [cpu_share(alpha * edges, elsewhere=mirrors), gpu_share((1 - alpha) * edges, elsewhere=mirrors)],
        "pagerank",
        rates(c=4 * c),
    )
    alone = predict([cpu_share(edges)], "pagerank", rates()).seconds
    beta = mirrors / edges
    assert alone / found.seconds == pytest.approx(totem_speedup(alpha, beta, 1e9, c))


def test_the_slowest_element_counts():
    found = predict([cpu_share(10**9), gpu_share(10**9)], "pagerank", rates())
    assert found.seconds == pytest.approx(1.0)
    assert [e.compute_seconds for e in found.elements] == pytest.approx([1.0, 0.1])


def test_an_element_sends_when_it_is_done_while_others_compute():
    """The CPU is the last to compute; what the GPU sends is there by then (T12, equation 2)."""
    shares = [cpu_share(10**9, elsewhere=10**6), gpu_share(10**9, elsewhere=10**8)]
    found = predict(shares, "pagerank", rates(c=4e9))
    assert [e.exchange_seconds for e in found.elements] == pytest.approx([1e-3, 0.1])
    assert found.seconds == pytest.approx(1.001)


@pytest.mark.parametrize(
    ("algorithm", "bytes_sent"),
    [
        ("pagerank", 4 * 300),
        ("wcc", 4 * 300),
        ("sssp", 16 * 50),
        ("bfs", 4 / 40 * 50 + 3 / 8 * 300),
        ("betweenness", 8 * 50 + 8 * 300),
    ],
)
def test_what_is_pulled_goes_to_mirrors_and_what_is_pushed_comes_from_them(algorithm, bytes_sent):
    shares = [cpu_share(0, mirrors=50, elsewhere=300), gpu_share(0)]
    found = predict(shares, algorithm, rates(c=1.0))
    assert found.elements[0].exchange_seconds == pytest.approx(bytes_sent)


@pytest.mark.parametrize("algorithm", sorted(TRAVELS))
@pytest.mark.parametrize("alpha", [0.2, 0.5])
def test_what_is_said_to_travel_is_what_the_timeline_counts(algorithm, alpha):
    """In a pass, for each mirror, to within a third; searches differ most, so it is a median of several."""
    graph = generate.rmat(14, edge_factor=16, weights="1..255")
    pg = ev.partition(graph, "cpu:1,cpu:1", policy="high", alpha=alpha)
    run, passes = PASSES[algorithm]
    sources = graph.ids[np.flatnonzero(graph.out_degree() > 1)[::1000]].tolist()
    mirrors = sum(own.mirrors for own in pg.partitions)
    sent = [sum(span.bytes_sent for span in run(pg, source).timeline.spans) for source in sources]
    said = TRAVELS[algorithm].pushed + TRAVELS[algorithm].pulled
    assert np.median(sent) / passes / mirrors == pytest.approx(said, rel=1 / 3)


def test_what_lies_in_a_row_travels_at_the_speed_of_copies():
    part = Part(100, 100, 50, 300, 0, in_a_row=200)
    shares = [Share("cpu", "cpu", 4, part), gpu_share(0)]
    found = predict(shares, "pagerank", rates(c=1.0, copied=10.0))
    assert found.elements[0].exchange_seconds == pytest.approx(4 * 100 / 1.0 + 4 * 200 / 10.0)
    # Bits of a frontier are picked out all the same, three for each of 300; a parent for one mirror in 40.
    found = predict(shares, "bfs", rates(c=1.0, copied=10.0))
    assert found.elements[0].exchange_seconds == pytest.approx(4 / 40 * 50 + 3 / 8 * 300)


@pytest.mark.parametrize(("mapped", "columns", "rate"), [(0, True, 1), (0, False, 3), (10, True, 3)])
def test_without_blocks_of_columns_a_gpu_is_slower(mapped, columns, rate):
    share = Share("cuda:0", "cuda", 1, Part(100, 100, 0, 0, 1000), mapped, columns)
    known = rates(gpu=1.0, pulled=3.0, mapped=7.0)
    assert predict([share], "pagerank", known).seconds == pytest.approx(1000 * rate + 7 * mapped)
    assert predict([share], "wcc", known).seconds == pytest.approx(1000 + 7 * mapped)


def test_mapped_edges_cost_what_the_bus_takes_besides():
    found = predict([gpu_share(10**9, mapped=10**8)], "pagerank", rates(mapped=2e-9, mapped_row=1.0))
    assert found.seconds == pytest.approx(0.1 + 0.2)


def test_rows_with_mapped_edges_cost_what_reading_any_of_them_takes_besides():
    share = replace(gpu_share(10**9, mapped=10**8), mapped_rows=10**6, bare_long=8 * 10**4, bare_short=10**5)
    found = predict([share], "bfs", rates(mapped=2e-9, mapped_row=3e-8))
    assert found.seconds == pytest.approx(0.1 + 0.2 + 0.03)
    known = rates(mapped=2e-9, mapped_row=3e-8)
    known.mapped["bfs"] = Mapped(2e-9, 3e-8, 7e-7)
    assert predict([share], "bfs", known).seconds == pytest.approx(0.1 + 0.2 + 0.03 + 0.07)


def test_fewer_threads_take_longer():
    assert predict([cpu_share(10**9, threads=2)], "wcc", rates()).seconds == pytest.approx(2.0)


def test_more_threads_than_were_measured_are_counted_on_as_far_as_there_are_cores():
    share, here = cpu_share(10**9, threads=8), rates()
    assert predict([share], "wcc", here).seconds == pytest.approx(1.0)
    five = replace(here, machine={**MACHINE, "cores": 5})
    assert predict([share], "wcc", five).seconds == pytest.approx(0.8)
    assert predict([share], "wcc", replace(here, machine={**MACHINE, "cores": 2})).seconds == pytest.approx(
        1.0
    )


def test_one_element_exchanges_nothing_and_passes_multiply():
    found = predict([cpu_share(10**9, mirrors=10**9)], "pagerank", rates(delay=1.0), passes=3)
    assert found.elements[0].exchange_seconds == 0
    assert found.seconds == pytest.approx(3.0)


def test_every_pass_has_its_exchange():
    """An element computes for 1 s and sends for 0.1 s each time."""
    shares = [cpu_share(10**9, elsewhere=10**8), gpu_share(0)]
    found = predict(shares, "pagerank", rates(c=4e9), passes=3)
    assert found.elements[0].compute_seconds == pytest.approx(3.0)
    assert found.elements[0].exchange_seconds == pytest.approx(0.3)
    assert found.seconds == pytest.approx(3.3)


def test_each_superstep_has_its_exchange():
    found = predict([cpu_share(0), gpu_share(0)], "bfs", rates(delay=1e-4, steps=7))
    assert found.seconds == pytest.approx(7e-4)


# ---- rates by size ---------------------------------------------------------------------------------


def test_rates_lie_on_lines_over_the_logarithm_of_sizes():
    rate = Rate((2**10, 2**20), (1e-9, 3e-9), (0.0, 0.0), (0.0, 0.0), 0.0)
    assert rate.seconds(1, 2**10) == pytest.approx(1e-9)
    assert rate.seconds(1, 2**15) == pytest.approx(2e-9)
    assert rate.seconds(1, 2**20) == pytest.approx(3e-9)
    assert rate.seconds(1, 2**4) == pytest.approx(1e-9)  # below the first, that of the first
    assert rate.seconds(1, 2**25) == pytest.approx(4e-9)  # beyond the last, the line goes on
    assert rate.seconds(1, 5, 2**15 - 5) == pytest.approx(2e-9)


def test_beyond_the_largest_of_three_graphs_the_last_line_goes_on():
    rate = Rate((2**10, 2**20, 2**22), (1e-9, 3e-9, 7e-9), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0)
    assert rate.seconds(1, 2**21) == pytest.approx(5e-9)
    assert rate.seconds(1, 2**23) == pytest.approx(9e-9)


def test_a_vertex_costs_no_more_beyond_the_largest_graph():
    """Two graphs whose edges and vertices cost more on the larger one, and one as much larger than that."""
    rate = Rate((2**10, 2**20), (1e-9, 3e-9), (1e-9, 5e-9), (0.0, 0.0), 0.0)
    assert rate.seconds(2**30, 2**20) == pytest.approx(2**30 * 3e-9 + 2**20 * 5e-9)
    assert rate.seconds(2**30, 2**30) == pytest.approx(2**30 * 5e-9 + 2**30 * 5e-9)


def test_the_bound_from_below_grows_with_the_graph_too():
    rate = Rate((2**10, 2**15, 2**20), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1e-9, 2e-9, 4e-9), 0.0)
    for vertices, each in ((2**10, 1e-9), (2**15, 2e-9), (2**20, 4e-9)):
        assert rate.seconds(10**6, vertices) == pytest.approx(10**6 * each)


def test_mirrors_take_room_in_caches_as_well():
    growing = Rate((2**10, 2**20), (1e-9, 3e-9), (0.0, 0.0), (0.0, 0.0), 0.0)
    known = replace(rates(), cpu={"pagerank": growing}, gpu={"pagerank": growing})
    for kind, threads in (("cpu", 4), ("cuda", 1)):
        share = Share(kind, kind, threads, Part(2**30, 2**10, 2**20 - 2**10, 0, 10**6))
        assert predict([share], "pagerank", known).seconds == pytest.approx(3e-3)


def test_nothing_becomes_free_beyond_the_largest_graph():
    """What a measurement took less for on the larger graph, it may do by chance, and not ever less."""
    rate = Rate((2**10, 2**12), (8e-9, 2e-9), (0.0, 0.0), (0.0, 0.0), 0.0)
    assert rate.seconds(1, 2**11) == pytest.approx(5e-9)
    assert rate.seconds(1, 2**40) == pytest.approx(0.6 * 2e-9)


@pytest.mark.parametrize(
    ("each", "all_of_40"),
    [
        ((4.0, 3.0), 100.0),  # of 10 vertices 40 s, of 20 of them 60, so of 40 of them 100
        ((2.0, 3.0), 120.0),  # they became dearer
        ((4.0, 2.0), 64.0),  # more of them took no longer: each one more will take 0.6 of 2
        ((4.0, 1.0), 32.0),  # or took less
    ],
)
def test_what_all_take_of_cheaper_ones_goes_on_beyond_the_largest_graph(each, all_of_40):
    nothing = (0.0, 0.0)
    rate = Rate((10, 20), nothing, each, nothing, 0.0)
    assert rate.seconds(0, 20) == pytest.approx(20 * each[1])
    assert rate.seconds(0, 40) == pytest.approx(all_of_40)
    if each[0] > each[1]:  # and so it is with edges
        for rate in (
            Rate((10, 20), each, nothing, nothing, 0.0),
            Rate((10, 20), nothing, nothing, each, 0.0),
        ):
            assert rate.seconds(40, 40) == pytest.approx(all_of_40)


def test_a_partition_of_hubs_is_not_free():
    """As a whole graph takes time for its vertices alone, a share of its edges takes that share at least."""
    rate = Rate((2**20,), (0.0,), (1e-8,), (1e-9,), 0.5)
    assert rate.seconds(10**9, 10**6) == pytest.approx(0.5 + 1.0)
    assert rate.seconds(10**3, 10**8) == pytest.approx(0.5 + 1.0)


def test_vertices_without_an_edge_take_no_time():
    known = replace(rates(), cpu={"pagerank": flat(1.0, vertex=100.0)})
    assert predict([Share("cpu", "cpu", 4, Part(10**6, 3, 0, 0, 7))], "pagerank", known).seconds == 307


@pytest.mark.parametrize(
    ("few", "many", "edge", "vertex"),
    [
        (40 * 2 + 30 * 5, 60 * 2 + 300 * 5, 5, 2),
        (30 * 5, 300 * 5, 5, 0),
        (40 * 2, 60 * 2, 0, 2),
        # Each of many edges costs more than each of few: 30 and 300 of them are off by as little as may be.
        (40, 600, (30 / 40 + 300 / 600) / ((30 / 40) ** 2 + (300 / 600) ** 2), 0),
    ],
)
def test_a_rate_is_taken_from_few_edges_and_from_many(few, many, edge, vertex):
    measured = Measured((10,))
    # Half of the shortest time is taken for what a run takes without any work.
    measured.samples["wcc", "cpu"] = [
        Sample(10, 40, 40, 30, 2 * few),
        Sample(10, 60, 60, 300, many + few),
    ]
    rate = measured.rate("wcc", "cpu")
    assert rate.fixed_seconds == few
    assert rate.vertices == (60,)
    assert rate.edge_seconds == pytest.approx([edge], rel=0.01)
    assert rate.vertex_seconds == pytest.approx([vertex], rel=0.01)


@pytest.mark.parametrize(("name", "least"), [("pagerank", 5), ("wcc", (60 * 2 + 300 * 5) / 300)])
def test_what_reads_every_edge_pays_for_every_edge_and_no_vertex(name, least):
    measured = Measured((10,))
    times = [40 * 2 + 30 * 5, 60 * 2 + 300 * 5]
    measured.samples[name, "gpu"] = [
        Sample(10, 40, 40, 30, 2 * times[0]),
        Sample(10, 60, 60, 300, times[1] + times[0]),
    ]
    assert measured.rate(name, "gpu").least_edge_seconds == pytest.approx([least])


def test_edges_that_seem_free_are_not_foreseen_to_be():
    """A pass over a small graph takes a GPU as long as launching it."""
    measured = Measured((10,))
    measured.samples["pagerank", "gpu"] = [
        Sample(10, 40, 40, 30, 10.0),
        Sample(10, 60, 60, 300, 11.0),
    ]
    rate = measured.rate("pagerank", "gpu")
    assert rate.edge_seconds == (0,)
    assert rate.least_edge_seconds == pytest.approx([(11 - 5) / 300])


def test_samples_that_the_clock_did_not_tell_are_not_gone_by():
    told = [Sample(10, 40, 40, 30, 10.0), Sample(10, 60, 60, 300, 11.0)]
    untold = [Sample(10, 50, 50, 100, 0.0, 5), Sample(12, 90, 90, 500, 0.0)]
    assert fitted([*untold, *told], reads_all=True) == fitted(told, reads_all=True)
    assert fitted(untold, reads_all=True).seconds(500, 90, 5) == 0


def test_what_edges_and_rows_cost_more_in_the_hosts_memory():
    """By hand, of the largest graph in both placements; PageRank is compared without blocks of columns."""
    measured = Measured((10,))
    for name in ("bfs", "pagerank", "wcc"):
        for tier, largest in (("gpu", 40.0), ("pulled", 70.0)):
            measured.samples[name, tier] = [Sample(10, 40, 40, 30, 1.0), Sample(10, 60, 60, 300, largest)]
    measured.in_host_memory["bfs"] = [
        (edges, rows, bare, 40 + 3 * edges + 5 * rows + 7 * bare)
        for edges, rows, bare in ((150, 4, 1), (260, 30, 9), (260, 28, 28))
    ]
    measured.in_host_memory["pagerank"] = [
        (edges, rows, 0, 70 + 3 * edges + 5 * rows) for edges, rows in ((150, 4), (260, 30))
    ]
    measured.in_host_memory["wcc"] = [(150, 4, 0, 39.0), (260, 30, 0, 40.0)]  # nothing becomes cheaper by it
    for name, cost in (("bfs", (3, 5, 7)), ("pagerank", (3, 5, 0)), ("wcc", (0, 0, 0))):
        found = measured.mapped(name)
        each = found.edge_seconds, found.row_seconds, found.bare_row_seconds
        assert each == pytest.approx(cost)


def test_neither_edges_nor_rows_make_up_for_the_other():
    """Rows seem to save time: edges tell it alone, then, as nearly as they can. Less than no time is none."""
    found = fitted_mapped([(100, 10, 0, 100.0), (200, 40, 0, 190.0)])
    assert (found.row_seconds, found.bare_row_seconds) == (0, 0)
    assert found.edge_seconds == pytest.approx((100 * 100 + 200 * 190) / (100**2 + 200**2))
    assert fitted_mapped([(100, 10, 0, -50.0), (200, 40, 0, 190.0)]) == fitted_mapped(
        [(100, 10, 0, 0.0), (200, 40, 0, 190.0)]
    )


def test_shares_of_a_graph_say_what_edges_and_vertices_cost_beside_a_gpu():
    """By hand: a share with few edges to a vertex, and one with many that reads as much of the graph."""
    measured = Measured((10,))
    measured.samples["pagerank", "beside"] = [
        Sample(10, 500, 400, 100, 20 + 400 * 2 + 100 * 3),
        Sample(10, 450, 1, 6, 20 + 1 * 2 + 6 * 3),
    ]
    rate = measured.rate("pagerank", "beside")
    assert rate.vertices == (500,)
    assert rate.fixed_seconds == 20
    assert rate.vertex_seconds == pytest.approx([2])
    assert rate.edge_seconds == pytest.approx([3])


@pytest.mark.parametrize(("name", "edge", "least"), [("bfs", 0, 0), ("sssp", 0.01, (2 + 30 + 50) / 3000)])
def test_shares_of_hubs_say_what_mirrors_cost_where_edges_are_skipped(name, edge, least):
    """By hand: two whole graphs, a share of many vertices, and one of hubs, which bounds what edges cost.

    Not where vertices look up: however many edges hubs have, they need few, and edges cost nothing.
    """
    measured = Measured((10,))
    sizes = [(400, 2000, 0), (600, 9000, 0), (300, 700, 90), (1, 3000, 500)]
    measured.samples[name, "search"] = [
        Sample(10, own + mirrors, own, edges, 20 + own * 2 + edge * edges + mirrors / 10, mirrors)
        for own, edges, mirrors in [(0, 0, 200), *sizes]  # of which the first takes twice what is fixed
    ]
    rate = measured.rate(name, "search")
    assert rate.fixed_seconds == 20
    assert rate.vertices == (600,)
    assert rate.vertex_seconds == pytest.approx([2])
    assert (rate.mirrors, rate.mirror_seconds) == ((500,), pytest.approx([0.1]))
    assert rate.edge_seconds == pytest.approx([edge])
    assert rate.least_edge_seconds == pytest.approx([least])
    assert rate.seconds(3000, 1, 500) == pytest.approx(20 + 2 + 3000 * edge + 50)
    assert rate.seconds(6000, 1, 500) == pytest.approx(20 + max(2 + 6000 * edge + 50, 6000 * least))


def test_one_graph_of_a_size_says_how_many_times_as_dear_all_is():
    """By hand: 2 s a vertex and 3 an edge on the smaller graphs, half as much again on the larger one."""
    measured = Measured((10,))
    sizes = [(10, 10, 0), (10, 400, 100), (10, 300, 600), (12, 2000, 500)]  # the first takes 20
    measured.samples["wcc", "cpu"] = [
        Sample(scale, own, own, edges, 20 + (1.5 if scale == 12 else 1) * (2 * own + 3 * edges))
        for scale, own, edges in sizes
    ]
    rate = measured.rate("wcc", "cpu")
    assert rate.fixed_seconds == 20
    assert rate.vertices == (400, 2000)
    assert rate.vertex_seconds == pytest.approx([2, 3])
    assert rate.edge_seconds == pytest.approx([3, 4.5])
    # So it is with what vertices of sparse graphs take longer.
    measured.samples["bfs", "cpu"] = [
        Sample(scale, own, own, edges, 20 + (1.5 if scale == 12 else 1) * own * (2 + 30 * own / edges))
        for scale, own, edges in [(10, 1, 30 / 18), (10, 400, 2000), (10, 300, 600), (12, 2000, 500)]
    ]
    rate = measured.rate("bfs", "cpu")
    assert rate.vertex_seconds == pytest.approx([2, 3])
    assert rate.thin_seconds == pytest.approx([30, 45])
    # And with the bound from below, which is that of many edges, though this graph has few.
    least = 400 * (2 + 30 * 400 / 2000) / 2000
    assert rate.least_edge_seconds == pytest.approx([least, 1.5 * least])


def test_where_vertices_look_for_one_neighbour_few_edges_cost_more_than_many():
    """By hand: 2 s for each of 400 vertices with 5 edges and of 600 with 15, and 30 s over these numbers."""
    measured = Measured((10,))
    measured.samples["bfs", "gpu"] = [
        Sample(10, own, own, edges, 20 + own * (2 + 30 * own / edges))
        for own, edges in [(1, 30 / 18), (400, 2000), (600, 9000)]  # the first takes twice what is fixed
    ]
    rate = measured.rate("bfs", "gpu")
    assert rate.fixed_seconds == 20
    assert rate.edge_seconds == (0,)
    assert rate.vertex_seconds == pytest.approx([2])
    assert rate.thin_seconds == pytest.approx([30])
    assert rate.seconds(8000, 800) == pytest.approx(20 + 800 * (2 + 30 / 10))
    assert rate.seconds(0, 0) == 20
    # A share of hubs takes what its edges do, but no more than if all it reads were vertices of its own.
    assert rate.least_edge_seconds == pytest.approx([600 * 4 / 9000])
    assert rate.seconds(9000, 1, 2000) == pytest.approx(20 + 600 * 4)
    assert rate.seconds(90_000, 1, 2000) == pytest.approx(20 + 2001 * 2)
    # It is not free where vertices seem to be.
    assert replace(rate, vertex_seconds=(0.0,)).seconds(9000, 1, 2000) == pytest.approx(20 + 600 * 4)


def test_what_mirrors_take_goes_by_how_many_there_are():
    """By hand, on lines through nothing for none, and beyond the last at what one more took at last.

    It goes by the mirrors of the shares that were measured, whatever the size of the graphs.
    """
    nothing = (0.0, 0.0)
    rate = Rate((1000, 2000), nothing, nothing, nothing, 0.0, (10, 20), (4.0, 3.0))
    for mirrors, seconds in ((0, 0), (5, 20), (10, 40), (15, 50), (20, 60), (40, 100)):
        assert rate.seconds(0, 10**6, mirrors) == pytest.approx(seconds)
    # They do not become dearer, and never so cheap as they seem to: of 10 all 40, of 20 all 44, or 30.
    for each, beyond in ((5.0, 100 + 20 * 5), (2.2, 44 + 20 * 0.6 * 2.2), (1.5, 40 + 20 * 0.6 * 1.5)):
        found = replace(rate, mirror_seconds=(4.0, each)).seconds(0, 0, 40)
        assert found == pytest.approx(beyond)
    assert replace(rate, mirror_seconds=(4.0, 1.5)).seconds(0, 0, 15) == pytest.approx(40)
    one = replace(rate, mirrors=(10,), mirror_seconds=(4.0,))
    assert [one.seconds(0, 0, mirrors) for mirrors in (5, 10, 40)] == pytest.approx([20, 40, 160])


def test_each_size_of_graph_says_what_more_mirrors_take():
    """By hand: 2 s a vertex, and 3, then 1 s a mirror; on a third graph there were no more than before."""
    measured = Measured((10, 12, 14))
    sizes = [(10, 10, 0, 0)]  # which takes twice what is fixed
    sizes += [(10, 400, 0, 3), (10, 0, 100, 3), (12, 800, 0, 1), (12, 100, 500, 1)]
    sizes += [(14, 900, 0, 1), (14, 100, 400, 1)]
    measured.samples["bfs", "search"] = [
        Sample(scale, own + mirrors, own, 9000, 20 + 2 * own + each * mirrors, mirrors)
        for scale, own, mirrors, each in sizes
    ]
    rate = measured.rate("bfs", "search")
    assert (rate.vertices, rate.vertex_seconds) == ((400, 800, 900), pytest.approx([2, 2, 2]))
    assert (rate.mirrors, rate.mirror_seconds) == ((100, 500), pytest.approx([3, 1]))


def test_a_cpu_is_slower_while_a_gpu_reads_its_memory():
    shares = [cpu_share(10**9), gpu_share(10**9)]
    reading = [cpu_share(10**9), gpu_share(10**9, mapped=10**8)]
    known = rates(cpu=1.0, beside=3.0)
    for algorithm, of, seconds in (("pagerank", shares, 1), ("pagerank", reading, 3), ("wcc", reading, 1)):
        assert predict(of, algorithm, known).elements[0].compute_seconds == pytest.approx(seconds * 1e9)


def test_what_both_take_to_search_beside_computing_goes_by_mirrors():
    """By hand: 2 s an edge, 3 for each of 100 vertices, 4 a mirror, 5; then 7 s, 0.5 a mirror, 2 a vertex.

    Of these the CPU has 150, of which 50 have no edge, but a state.
    """
    shares = [cpu_share(1000, mirrors=300, elsewhere=200), gpu_share(10**10, mirrors=200, elsewhere=300)]
    known = rates(share=(2.0, 3.0, 5.0), carried=(7.0, 0.5, 2.0), c=1.0)
    known.shares["bfs"] = replace(known.shares["bfs"], mirrors=(10**6,), mirror_seconds=(4.0,))
    shares[0] = replace(shares[0], part=replace(shares[0].part, vertices=150))
    found = predict(shares, "bfs", known, passes=2)
    computing, more = 2000 + 300 + 1200 + 5, 7 + 250 + 300
    assert [e.compute_seconds for e in found.elements] == pytest.approx([2 * computing, 2 * 1.0])
    assert [e.exchange_seconds for e in found.elements] == pytest.approx([2 * more] * 2)
    assert found.seconds == pytest.approx(2 * (computing + more))
    assert found.beside_computing
    # A CPU that is slower, and half of its threads.
    slow = predict([replace(shares[0], threads=2), shares[1]], "bfs", known, cpu_takes=1.5)
    assert [e.compute_seconds for e in slow.elements] == pytest.approx([computing * 2 * 1.5, 1.0])
    # What GPUs send one another does not count with what goes to the CPU and from there.
    three = [*shares, replace(gpu_share(0, mirrors=10**6, elsewhere=10**6), element="cuda:1")]
    assert predict(three, "bfs", known).elements[0].exchange_seconds == pytest.approx(more)
    # Not for what reads every edge, nor where there is no CPU, nor where there is nothing else.
    assert not predict(shares, "pagerank", known).beside_computing
    assert predict(shares, "pagerank", known).elements[0].exchange_seconds == 4 * 200
    two = [gpu_share(10**10, elsewhere=200), replace(gpu_share(0, mirrors=300), element="cuda:1")]
    assert predict(two, "bfs", known).elements[1].exchange_seconds == pytest.approx(0.1 * 300)
    assert predict(shares[:1], "bfs", known).seconds == pytest.approx(1e-9 * 1000)


def test_what_is_carried_is_told_from_what_carrying_takes():
    """By hand: 7 s, 3 a mirror, which is known, and 5 for each vertex of the CPU."""
    sizes = [(100, 9), (1000, 2), (10, 40), (500, 500)]
    found = fitted_carried(
        [(1000, mirrors, own, 7 + 3.0 * mirrors + 5.0 * own) for mirrors, own in sizes], 3.0
    )
    assert found.fixed_seconds == pytest.approx((7,))
    assert (found.mirror_seconds, found.vertex_seconds) == pytest.approx((3, 5))
    # By how many times it is off, not by how much: 4/3 over 10/9, and 3 of what either took are mirrors'.
    assert fitted_carried([(1000, 0, 0, 1.0), (1000, 0, 0, 3.0)], 0.0).fixed_seconds == pytest.approx((1.2,))
    left = (1 / 4 / 4 + 3 / 6 / 6) / (1 / 4**2 + 1 / 6**2)
    found = fitted_carried([(1000, 3, 0, 4.0), (1000, 3, 0, 6.0)], 1.0)
    assert found.fixed_seconds == pytest.approx((left,))
    # However the clock runs, nothing takes less than no time, also if mirrors alone would take longer.
    assert fitted_carried(
        [(1000, 100, 1, -1.0), (1000, 1000, 1, 5.0), (1000, 10, 1, 0.0)], 1e-3
    ) == fitted_carried([(1000, 1000, 1, 5.0)], 1e-3)
    assert fitted_carried([(1000, 100, 1, -1.0)], 1.0) == carries(0.0, 1.0, 0.0)
    assert fitted_carried([(1000, 100, 1, 5.0)], 1.0).fixed_seconds == (0,)


def test_a_small_graph_takes_less_to_begin_with():
    """By hand: 2 s for 100 vertices, 6 for 10,000, 9 for a million; and by logarithm between and beyond."""
    sizes = [(100, 60, 40), (100, 99, 1), (10**4, 4_000, 6_000), (10**4, 9_999, 1), (10**6, 400_000, 600_000)]
    anyhow = {100: 2, 10**4: 6, 10**6: 9}
    samples = [(*one, anyhow[one[0]] + 1e-5 * one[1] + 3e-5 * one[2]) for one in sizes]
    # In whatever order.
    for found in (fitted_carried(samples, 1e-5), fitted_carried(samples[::-1], 1e-5)):
        assert found.sizes == (100, 10_000, 1_000_000)
        assert found.fixed_seconds == pytest.approx((2, 6, 9))
        assert (found.mirror_seconds, found.vertex_seconds) == pytest.approx((1e-5, 3e-5))
    for vertices, fixed in ((0, 2), (20, 2), (1000, 4), (10**5, 7.5), (10**8, 12)):
        for mirrors, own in ((0, 0), (10**7, 10), (0, 10**7)):
            expected = pytest.approx(fixed + 1e-5 * mirrors + 3e-5 * own)
            assert found.seconds(vertices, mirrors, own) == expected
    # A small graph never takes more than a larger one, whatever they seem to take: 1/2 over 5/36.
    found = fitted_carried([(100, 60, 0, 6.0), (10_000, 10_000, 0, 3.0)], 0.0)
    assert found.fixed_seconds == pytest.approx((3.6, 3.6))
    # Of a graph on which the clock told nothing, nothing is known.
    found = fitted_carried([(100, 60, 0, 6.0), (10_000, 10_000, 0, 0.0)], 0.0)
    assert (found.sizes, found.fixed_seconds) == ((100,), pytest.approx((6,)))
    # One graph stands for all.
    assert [found.seconds(size, 0, 0) for size in (1, 100, 10**9)] == pytest.approx([6, 6, 6])


def test_what_a_pass_takes_anyhow_goes_by_the_whole_graph():
    """By hand: 1 s for 10 vertices with an edge, 3 for 1000; 2 for 40 + 60, however many elements."""
    known = rates(share=(1e-15,), gpu=1e-15, carried=(0.0, 0.0, 0.0))
    known.carried["bfs"] = Carried((10, 1000), (1.0, 3.0), 0.0, 0.0)
    for mirrors in (0, 10**9):
        cpu, gpu = cpu_share(0, mirrors=mirrors), gpu_share(0, elsewhere=mirrors)
        split = [
            replace(one, part=replace(one.part, connected=count)) for one, count in ((cpu, 40), (gpu, 60))
        ]
        assert predict(split, "bfs", known).elements[0].exchange_seconds == pytest.approx(2)
        halves = [
            replace(split[1], part=replace(split[1].part, connected=30), element=f"cuda:{k}") for k in (0, 1)
        ]
        assert predict([split[0], *halves], "bfs", known).elements[2].exchange_seconds == pytest.approx(2)


def test_mirrors_are_carried_as_fast_as_values_are_copied():
    """Of a search three flags for each, and a parent of 4 bytes for one in forty; a label in components."""
    measured = Measured((10,))
    for name in ("bfs", "wcc"):
        measured.beside_computing[name] = [(1024, 100, 1, 60.0)]
    assert measured.carried("bfs", 10.0).mirror_seconds == pytest.approx((4 / 40 + 3 / 8) / 10)
    assert measured.carried("wcc", 10.0).mirror_seconds == pytest.approx(4 / 10)


def test_values_travel_as_fast_as_their_sender_picks_them_out():
    shares = [cpu_share(0, elsewhere=1000), gpu_share(0, elsewhere=1000)]
    found = predict(shares, "pagerank", rates(c={"cpu": 8.0, "cuda": 40.0}))
    assert [e.exchange_seconds for e in found.elements] == pytest.approx([500, 100])


def test_rates_are_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept(MACHINE) is None
    for found in (rates(), rates(pulled=3e-10, beside=2e-9, share=(1e-9,), carried=(1e-3, 1e-9, 2e-9))):
        keep(found)
        assert kept(MACHINE) == found
    assert kept({"processor": "another"}) is None


def test_rates_that_were_measured_in_another_way_are_not_gone_by(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep(replace(rates(), machine=profile.machine(with_gpus=False)))
    assert profile.rates_kept(with_gpus=False) is not None
    monkeypatch.setattr(profile, "_METHOD", profile._METHOD + 1)
    assert profile.rates_kept(with_gpus=False) is None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"machine": 1}', '{"cpu": [1], "gpu": {}}', "\x00"])
def test_rates_that_cannot_be_read_are_measured_anew(tmp_path, monkeypatch, content):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep(rates())
    for place in (tmp_path / "evener" / "rates").iterdir():
        place.write_text(content)
    assert kept(MACHINE) is None


def test_rates_that_were_changed_or_are_another_machines_are_measured_anew(tmp_path, monkeypatch):
    """Also where every number is one that might have been measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep(rates())
    place = place_of(MACHINE)
    written = place.read_text()
    place.write_text(written.replace('"threads": ', '"threads": 1'))
    assert place.read_text() != written
    assert kept(MACHINE) is None
    place.write_text(written)
    assert kept(MACHINE) == rates()
    other = MACHINE | {"processor": "another"}
    place.rename(place_of(other))
    assert kept(other) is None


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Whether rates are believed that lie there, whoever wrote them; who keeps them is told the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def believed(found):
        with monkeypatch.context() as patch:
            patch.setattr(import_module("evener.planning.rates"), "_require_sense", lambda _: None)
            keep(found)
        believed = kept(MACHINE) == found
        with nullcontext() if believed else pytest.raises(ValueError, match=r"thes|more than none"):
            keep(found)
        return believed

    return believed


@pytest.mark.parametrize(
    "wrong",
    [
        {"vertices": (4, 4)},
        {"vertices": (0, 4)},
        {"vertices": ()},
        {"edge_seconds": (1.0, math.nan)},
        {"vertex_seconds": (-1.0, 1.0)},
        {"fixed_seconds": math.inf},
        {"mirrors": (2, 4), "mirror_seconds": (0.0, -1.0)},
        {"mirrors": (2, 2), "mirror_seconds": (0.0, 1.0)},
        {"mirrors": (2, 4), "mirror_seconds": (1.0,)},
        {"mirror_seconds": (1.0,)},
        {"thin_seconds": (0.0, -1.0)},
        {"edge_seconds": (1.0,)},
    ],
    ids=str,
)
def test_rates_that_nobody_can_have_measured_are_measured_anew(written, wrong):
    right = Rate((2, 4), (1.0, 2.0), (0.0, 0.0), (0.0, 0.0), 0.0)
    assert written(replace(rates(), cpu={"bfs": right}))
    assert not written(replace(rates(), cpu={"bfs": replace(right, **wrong)}))


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "name", ["threads", "supersteps", "bytes_per_second", "copied_bytes_per_second", "exchange_seconds"]
)
def test_other_numbers_are_checked_as_rates_are(written, name, wrong):
    right = getattr(rates(), name)
    found = replace(rates(), **{name: {**right, "cpu": wrong} if isinstance(right, dict) else wrong})
    fine = {"exchange_seconds": 0, "copied_bytes_per_second": math.inf}  # as without a GPU
    assert written(found) == (fine.get(name) == wrong)


def test_what_makes_no_sense_leaves_what_was_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep(rates())
    with pytest.raises(ValueError, match="nothing takes these times"):
        keep(rates(delay=math.nan))
    assert kept(MACHINE) == rates()


@pytest.mark.parametrize(
    "wrong",
    [Mapped(-1e-9, 0.0), Mapped(0.0, math.nan), Mapped(math.inf, 0.0), Mapped(0.0, 0.0, -1e-9)],
    ids=str,
)
def test_nothing_that_lies_in_the_hosts_memory_is_believed_to_be_faster(written, wrong):
    assert written(replace(rates(), mapped={"bfs": Mapped(1e-9, 0.0)}))
    assert not written(replace(rates(), mapped={"bfs": wrong}))


@pytest.mark.parametrize(
    "wrong",
    [
        carries(-1e-9, 0.0, 0.0),
        carries(0.0, math.nan, 0.0),
        carries(0.0, 0.0, -1.0),
        Carried((4, 4), (0.0, 0.0), 0.0, 0.0),
        Carried((), (), 0.0, 0.0),
        Carried((2, 4), (0.0,), 0.0, 0.0),
    ],
    ids=str,
)
def test_carrying_values_is_not_believed_to_save_time(written, wrong):
    assert written(replace(rates(), carried={"bfs": carries(0.0, 1e-9, 0.0)}))
    assert not written(replace(rates(), carried={"bfs": wrong}))


@pytest.mark.parametrize("named", [None, ""])
def test_rates_lie_in_the_home_directory_where_no_place_is_named(tmp_path, monkeypatch, named):
    """An empty name is none, says the XDG Base Directory Specification."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if named is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert place_of(MACHINE).parent == tmp_path / ".cache" / "evener" / "rates"


def test_without_a_home_directory_there_are_no_rates(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert kept(MACHINE) is None
    with pytest.raises(FileError, match="no home directory; set XDG_CACHE_HOME"):
        keep(rates())


def test_a_machine_is_the_same_in_whatever_order_it_is_described():
    assert place_of({"cores": 4, "gpus": []}) == place_of({"gpus": [], "cores": 4})


# ---- sizes before there are partitions ---------------------------------------------------------------


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:14")


@pytest.mark.parametrize("policy", ["random", "high", "low"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_sizes_are_near_those_of_real_partitions(graph, policy, alpha):
    placed = ev.partition(graph, ["cpu:1", "cpu:1"], policy=policy, alpha=alpha)
    real = placed.statistics.partitions
    shares = Share.all_of(placed)
    found = parts(Degrees.of(graph.out_degree()), policy, [alpha, 1 - alpha])
    for one, other, share, part in zip(real, reversed(real), shares, found, strict=True):
        assert part.connected == pytest.approx(share.part.connected, rel=0.06, abs=30)
        assert part.edges == pytest.approx(one.edges, rel=0.03)
        assert part.vertices == pytest.approx(one.vertices, rel=0.06, abs=30)
        # Hubs of so small a graph have all other hubs for neighbours, each once: the rest lie farther out.
        assert part.mirrors == pytest.approx(one.mirrors, rel=0.25, abs=30)
        assert part.elsewhere == pytest.approx(other.mirrors, rel=0.25, abs=30)


@pytest.mark.parametrize("policy", ["random", "high", "low"])
def test_what_will_lie_in_a_row_is_foreseen(policy, monkeypatch):
    for module in ("evener.planning.model", "evener.partition.partition"):
        monkeypatch.setattr(import_module(module), "LONG_RUN", 1000)
    graph = ev.read("rmat:17")
    real = Share.all_of(ev.partition(graph, ["cpu:1", "cpu:1"], policy=policy, alpha=0.1))
    found = parts(Degrees.of(graph.out_degree()), policy, [0.1, 0.9])
    for one, part in zip(real, found, strict=True):
        assert part.elsewhere == pytest.approx(one.part.elsewhere, rel=0.25, abs=30)
        if one.part.elsewhere > 1000:  # fewer lie in a row now and then
            assert part.in_a_row == pytest.approx(one.part.in_a_row, rel=0.08)


@pytest.fixture(scope="module")
def cited():
    """Everyone cites ten, and few are cited by most: degrees in say nothing of degrees out."""
    rng = np.random.default_rng(5)
    heads = (20000 * rng.random(200000) ** 3).astype(np.int64)
    return ev.Graph.from_edges(np.repeat(np.arange(20000), 10), heads, n=20000)


@pytest.mark.parametrize("policy", ["random", "high", "low"])
@pytest.mark.parametrize("directions", ["in", "out", "both"])
def test_directed_sizes_count_what_is_stored(cited, directions, policy):
    placed = ev.partition(cited, ["cpu:1", "cpu:1"], alpha=0.3, policy=policy, directions=directions)
    real = Share.all_of(placed)
    found = parts(Sizes.of(cited, directions).degrees, policy, [0.3, 0.7])
    for one, part in zip(real, found, strict=True):
        assert part.edges == pytest.approx(one.part.edges, rel=0.1)
        assert part.vertices == pytest.approx(one.part.vertices, rel=0.05, abs=20)
        assert part.mirrors == pytest.approx(one.part.mirrors, rel=0.15, abs=30)
    if (policy, directions) == ("low", "in"):
        assert found[0].edges < 0.3 * cited.m / 2


def test_of_edges_stored_once_fewer_vertices_have_mirrors():
    """Ends are drawn alike, so that the chance of a mirror is known well."""
    graph = ev.read("uniform:12,edge_factor=4,directed")
    real = Share.all_of(ev.partition(graph, ["cpu:1", "cpu:1"], alpha=0.3, directions="in"))
    found = parts(Sizes.of(graph, "in").degrees, "random", [0.3, 0.7])
    for one, part in zip(real, found, strict=True):
        assert part.mirrors == pytest.approx(one.part.mirrors, rel=0.1)


@pytest.mark.parametrize(
    ("weights", "directed", "directions", "expected"),
    [
        (None, True, "both", (2, 4, 6)),
        (None, True, "in", (1, 4, 3)),
        (None, False, "both", (1, 4, 6)),
        (np.ones(3), True, "both", (2, 12, 6)),
        (np.ones(3, np.float32), False, "in", (1, 8, 6)),
    ],
)
def test_what_is_stored_of_a_graph(weights, directed, directions, expected):
    graph = ev.Graph.from_edges([0, 1, 2], [1, 2, 0], weights, directed=directed)
    sizes = Sizes.of(graph, directions)
    assert (sizes.directions, sizes.edge_bytes, sizes.degrees.stored.sum()) == expected


def test_three_elements_share_everything(graph):
    found = parts(Degrees.of(graph.out_degree()), "high", [0.2, 0.3, 0.5])
    assert sum(part.vertices for part in found) == pytest.approx(graph.n, abs=3)
    assert sum(part.edges for part in found) == pytest.approx(graph.m, abs=3)
    # Each mirror is of one owner.
    assert sum(part.mirrors for part in found) == pytest.approx(sum(part.elsewhere for part in found), abs=6)


def test_shares_of_real_partitions_are_counted():
    placed = ev.partition(ev.read("rmat:10"), ["cpu:1", "cpu:1", "cpu:1"])
    for p, share in enumerate(Share.all_of(placed)):
        assert share.part.vertices + share.part.mirrors == len(placed.partitions[p].vertices)
        owned = set(placed.partitions[p].vertices[: share.part.vertices].tolist())
        others = [one.vertices[one.owned :].tolist() for q, one in enumerate(placed.partitions) if q != p]
        assert share.part.elsewhere == sum(v in owned for other in others for v in other)
    assert sum(share.part.edges for share in Share.all_of(placed)) == placed.graph.m


def test_edges_that_stay_with_the_host_are_counted():
    placed = ev.partition(ev.read("rmat:8"), ["cpu:1"])
    (partition,) = placed.partitions

    class FarAndNear:
        far = np.zeros(32, np.uint32)
        nbytes = partition.out.targets.nbytes

        def __len__(self):
            return partition.out.count

    edges = replace(partition.out, targets=FarAndNear())
    placed.partitions = [replace(partition, out=edges, in_=edges)]
    assert [share.mapped for share in Share.all_of(placed)] == [32]
    placed.partitions = [replace(placed.partitions[0], out=replace(edges, mapped_rows=3), in_=None)]
    (share,) = Share.all_of(placed)
    assert (share.mapped_rows, share.bare_long, share.bare_short) == (3, 0, 0)  # nobody looks up along these
    edges = replace(edges, mapped_rows=5, bare_long=1, bare_short=3)
    out = replace(edges, bare_long=2, bare_short=2)
    placed.partitions = [replace(placed.partitions[0], out=out, in_=edges)]
    (share,) = Share.all_of(placed)
    assert (share.mapped_rows, share.bare_long, share.bare_short) == (10, 1, 3)


def test_degrees_are_counted():
    found = Degrees.of(np.array([3, 0, 3, 1], np.uint64))
    assert (found.degree == [3, 1, 0]).all()
    assert (found.count == [2, 1, 1]).all()
    assert (found.stored == [6, 1, 0]).all()
    assert (found.met == [6, 1, 0]).all()
    assert found.edges == 7


def test_edges_of_one_direction_are_counted_by_all_edges_of_a_vertex():
    found = Degrees.of(*np.array([[3, 0, 3, 1], [2, 0, 1, 1], [1, 0, 2, 0]], np.uint64))
    assert (found.stored == [3, 1, 0]).all()
    assert (found.met == [3, 0, 0]).all()


@pytest.mark.parametrize(
    ("edges", "rows"), [(0, 0), (1, 0), (2, 1), (3, 1), (5, 2), (6, 2), (7, 3), (100, 3)]
)
def test_rows_that_have_so_many_edges_are_counted_from_the_highest_degree(edges, rows):
    """Two vertices of three edges, one of one, and two without, of which none is ever meant."""
    degrees = Degrees.of(np.array([3, 0, 3, 1, 0], np.uint64))
    assert Sizes(degrees, 1, 4).rows(degrees.count.astype(float)).of(edges) == rows


@pytest.mark.parametrize(("directions", "heads"), [(1, (0, 1, 3, 3)), (2, (0, 1, 2, 2))])
def test_heads_are_of_rows_that_are_long_in_their_direction(directions, heads):
    """Two vertices of 16 edges in all directions, one of 8, four of 7."""
    degrees = Degrees.of(np.array([16, 16, 8, 7, 7, 7, 7], np.uint64))
    rows = Sizes(degrees, directions, 4).rows(degrees.count.astype(float))
    assert tuple(rows.long_of(edges) for edges in (0, 16, 40, 68)) == heads


@pytest.mark.parametrize("policy", ["low", "high", "random"])
def test_owners_of_each_degree(policy):
    degrees = Degrees.of(np.array([4, 2, 1, 1, 0], np.uint64))
    found = owned_by_degree(degrees, policy, [0.5, 0.5])
    assert found.sum(axis=0) == pytest.approx(degrees.count)
    assert found @ degrees.degree == pytest.approx([4, 4])
    expected = {
        "high": [[1, 0, 0, 0], [0, 1, 2, 1]],
        "low": [[0, 1, 2, 1], [1, 0, 0, 0]],
        "random": [[0.5, 0.5, 1, 0.5]] * 2,
    }
    assert found == pytest.approx(np.array(expected[policy]))


def test_a_graph_without_edges():
    found = parts(Degrees.of(np.zeros(10, np.uint64)), "high", [0.5, 0.5])
    assert sum(part.vertices for part in found) == 10
    assert all(part.mirrors == part.elsewhere == part.edges == 0 for part in found)
