"""Sentences about the placement are true for every kind of elements, and any name can be on a page."""

from __future__ import annotations

import re

import pytest
from example_results import made

import evener as ev
from evener.elements import CpuElement
from evener.engine.timeline import Span
from evener.results.report.explain import placement_sentence
from evener.results.report.page import page
from evener.testing.ranks import run_ranks
from support.fake_gpu import FakeGpu


def element(name, place):
    return FakeGpu(name, place) if name.startswith("cuda") else CpuElement(name, 1)


def placed(names, **how):
    elements = [element(name, place) for place, name in enumerate(names)]
    return ev.partition(ev.read("rmat:8"), elements, **how)


@pytest.mark.parametrize(
    ("names", "side"),
    [
        (["cpu:1", "cpu:2"], "on the first element, cpu:1"),
        (["cuda:0", "cuda:1"], "on the first element, cuda:0"),
        (["cpu:1", "cuda:0"], "on the CPUs"),
        (["cuda:0", "cpu:1", "cpu:2"], "on the CPUs"),
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 0.25, 1.0, None])
def test_alpha_names_the_elements_that_it_counts(names, side, alpha):
    pg = placed(names, policy="high", alpha=alpha)
    edges = {name: part.stored_edges for name, part in zip(names, pg.partitions, strict=True)}
    counted = [name for name in names if name.startswith("cpu")] if side == "on the CPUs" else names[:1]
    share = sum(edges[name] for name in counted) / sum(edges.values())
    found = re.fullmatch(r"Policy high; α = ([<>]?)(\d+)% of the edges are (.*)\.", placement_sentence(pg))
    assert found[3] == side
    assert abs(int(found[2]) / 100 - share) <= 0.0101
    assert pg.statistics.alpha == pytest.approx(share)
    if alpha is not None:
        assert share == pytest.approx(alpha, abs=0.05)


def test_one_element_and_no_edges():
    one = ev.bfs(placed(["cpu:1"]), source=0)
    assert "All edges are on cpu:1." in page(one)
    assert "α" not in one.explain()
    empty = ev.Graph.from_edges([], [], n=5)
    r = ev.wcc(ev.partition(empty, ["cpu:1", "cpu:1"], policy="low", alpha=0.5))
    for text in (page(r), r.explain()):
        assert "Policy low; the graph has no edges." in text
        assert "α" not in text


def test_ranks():
    graph = ev.read("rmat:8")

    def run(_):
        r = ev.wcc(graph, on="cpu:1", policy="high", alpha=0.25)
        return page(r), r.explain()

    for text in sum(run_ranks(2, run), ()):
        assert "% of the edges are on the first element, rank 0 cpu:1." in text


def test_pagerank_of_a_directed_graph_reports_the_share_of_its_stored_edges():
    """Most vertices have one in-edge, and the out-edges belong to a few."""
    graph = ev.Graph.from_edges([i % 3 for i in range(900)], range(900), n=900, directed=True)
    r = ev.pagerank(graph, on=["cpu:1", "cpu:1"], policy="high", alpha=0.5)
    assert "α = 50% of the edges are on the first element" in r.explain()
    assert [one.edges for one in r.partitioned.statistics.partitions] == [450, 450]


def test_a_single_superstep_is_singular():
    r = made(spans=[Span(0, "work", "cpu", compute=0.01)])
    r.timeline.seconds = 0.5
    assert "of all time: 1 superstep with little work." in r.explain()


def test_any_name_can_be_on_a_page():
    name = "<b onclick='x'>&\"\x00\x1b[31m\ud800"
    r = made(parameters={"source": name, name: 1})
    text = page(r)
    assert text.encode("utf-8")
    assert "<b onclick" not in text
    assert "&lt;b onclick=&#x27;x&#x27;&gt;&amp;&quot;\\x00\\x1b[31m\\ud800" in text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text)
