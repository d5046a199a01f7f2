"""The parity matrix: every split of the graph gives the answers of the reference.

Distances and components are equal. PageRank values and centralities agree to 1e-6 relative.
"""

from __future__ import annotations

from importlib import import_module
from itertools import cycle, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
from evener.elements import CpuElement
from support import graphs, parity_cases
from support.expected_results import Truth, source_alone, truth_of
from support.parity_cases import ALPHAS, POLICIES, directions, generated_graphs, small_graphs

# Not `evener.partition`, which is the function of that name.
partition_home = import_module("evener.partition.partition")

SPLITS = [(elements, policy, alpha) for elements in (2, 3, 4) for policy, alpha in product(POLICIES, ALPHAS)]


@directions
@small_graphs
def test_small_graphs(name, directed):
    """Check one element, and every policy for two to four elements. All graphs together use every split."""
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    truth.check(on=["cpu:1"])
    first = 2 * list(graphs.SMALL).index(name) + directed
    elements = (2, 3, 4)[first % 3]
    for k, policy in enumerate(POLICIES, first // 3):
        truth.check(on=["cpu:1"] * elements, policy=policy, alpha=ALPHAS[k % len(ALPHAS)])


@parity_cases.narrow_searches
def test_narrow_levels(monkeypatch, name, narrow, levels, directed):
    parity_cases.check_narrow_levels(
        monkeypatch, name, "cpu:2", directed=directed, narrow=narrow, levels=levels
    )


@parity_cases.searches_at_once
def test_levels_at_once(monkeypatch, name, stored, narrow, most, up, broad):
    """Compare the kernel `all_steps` with single steps that the host starts.

    Only GPU runs call `all_steps`, so no other test on a CPU shows that its CPU twin is correct.
    """
    parity_cases.check_levels_at_once(monkeypatch, "cpu:2", name, stored, narrow, most, up, broad)


@parity_cases.few_narrow_levels_among_all
def test_few_narrow_levels_among_all(monkeypatch, most, among_all):
    parity_cases.check_few_narrow_levels_among_all(monkeypatch, "cpu:2", most, among_all)


@directions
@pytest.mark.parametrize("elements", [1, 2, 4])
def test_the_empty_graph(elements, directed):
    parity_cases.check_the_empty_graph(["cpu:1"] * elements, directed=directed)


@directions
def test_a_source_without_out_edges_reaches_itself(directed):
    splits = [["cpu:1"] * elements for elements in (1, 2, 4)]
    parity_cases.check_a_source_without_out_edges(splits, directed=directed)


@directions
def test_a_source_alone_in_its_partition(directed):
    source_alone(directed=directed).check(on=["cpu:1"] * 2, policy="low", alpha=0.001)


@settings(max_examples=40)
@given(
    graph=graphs.drawn_graphs(),
    split=st.sampled_from(SPLITS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    truth = Truth(graph, source % graph.n)
    truth.check(on=["cpu:1"])
    truth.check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@settings(max_examples=150)
@given(graph=graphs.drawn_graphs(), split=st.sampled_from(SPLITS), source=st.integers(0, 2**16))
def test_many_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    Truth(graph, source % graph.n).check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@directions
@pytest.mark.parametrize("name", graphs.LARGE)
def test_large_graphs(name, directed):
    truth = truth_of(graphs.LARGE[name](), directed=directed)
    truth.check(on=["cpu:1"])
    first = 2 * list(graphs.LARGE).index(name) + directed
    for k, policy in enumerate(POLICIES):
        elements, alpha = (2, 4)[(first + k) % 2], (None, 0.3, 0.7)[(first // 2 + k) % 3]
        truth.check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@generated_graphs
def test_generated_graphs(name):
    splits = product([1, 2, 4], POLICIES)
    parity_cases.check_a_generated_graph(
        name, [{"on": ["cpu:1"] * count, "policy": one} for count, one in splits]
    )


@pytest.mark.slow
@pytest.mark.parametrize("on", [["cpu"], ["cpu"] * 4], ids=len)
def test_a_hundred_runs_agree(on):
    parity_cases.check_many_runs(on)


# ---- separate memories -------------------------------------------------------------------------------

# Elements with separate or shared memories. The "late" elements are deferred, as GPUs are.
APART = [
    ["apart:0", "apart:1"],
    ["apart:0", "late:1"],
    ["late:0", "late:0", "apart:1"],
    ["apart:0", "late:1", "late:1", "apart:0"],
]


@pytest.mark.usefixtures("apart_elements")
@directions
@small_graphs
def test_small_graphs_in_separate_memories(name, directed):
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    for on, policy, alpha in zip(APART, cycle(POLICIES), [None, 0.2, 0.5, 0.8], strict=False):
        truth.check(on=on, policy=policy, alpha=alpha)


@pytest.mark.usefixtures("apart_elements")
@settings(max_examples=30)
@given(
    graph=graphs.drawn_graphs(),
    on=st.sampled_from([["late:0"], *APART]),
    policy=st.sampled_from(POLICIES),
    alpha=st.sampled_from(ALPHAS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs_in_separate_memories(graph, on, policy, alpha, source):
    Truth(graph, source % graph.n).check(on=on, policy=policy, alpha=alpha)


@pytest.mark.usefixtures("apart_elements")
@directions
@pytest.mark.parametrize("name", ["rmat", "grid", "star"])
def test_unneeded_mirrors_do_not_change_results(monkeypatch, name, directed):
    """If every third vertex of a run is needed, all have mirrors, and some mirrors have no edges."""
    monkeypatch.setattr(partition_home, "LONG_RUN", 1)
    monkeypatch.setattr(partition_home, "NEARLY_ALL", 0.3)
    truth = truth_of(graphs.SMALL[name](), directed=directed)
    for on, policy, alpha in zip(APART, cycle(POLICIES), [0.3, 0.2, 0.5, 0.8], strict=False):
        truth.check(on=on, policy=policy, alpha=alpha)


@pytest.mark.usefixtures("apart_elements")
@pytest.mark.parametrize("on", APART[1:3], ids=",".join)
def test_runs_reuse_pages_of_earlier_runs(on):
    """Arrays of more than a megabyte get pages with the old content of earlier runs."""
    graph = ev.read("uniform:19,edge_factor=2")
    placed = ev.partition(graph, on, alpha=0.5)
    for source in (3, 5):
        for run in (lambda: ev.bfs(placed, source=source), lambda: ev.pagerank(placed, tol=0, max_iter=3)):  # noqa: B023
            ev.verify(run())


@pytest.mark.usefixtures("apart_elements")
@pytest.mark.parametrize("on", APART[:2], ids=",".join)
def test_a_search_that_turns_bottom_up_twice(monkeypatch, on):
    parity_cases.check_a_search_that_turns_up_twice(monkeypatch, on)


# ---- every kernel ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("apart_elements")
def test_the_matrix_calls_every_kernel(monkeypatch):
    splits = [["apart:0"], ["apart:0"] * 4, ["apart:0", "apart:1"]]
    parity_cases.check_that_every_kernel_is_reached(monkeypatch, CpuElement, splits)
