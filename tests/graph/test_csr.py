"""CSR builder, checks and transpose against a simple twin; memory; more than 2^31 edges."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from evener.errors import ArgumentError, OutOfMemoryError
from evener.graph import csr as build
from evener.graph.arrays import check_csr
from evener.system import memory


def twin(src, dst, weights, *, symmetrise, n, self_loops="keep", duplicates="keep"):
    """Convert edges to CSR with a sorted list."""
    values = [0] * len(src) if weights is None else weights.tolist()
    edges = [e for e in zip(src, dst, values, strict=True) if self_loops == "keep" or e[0] != e[1]]
    if symmetrise:
        edges += [(v, u, w) for u, v, w in edges if u != v]
    edges.sort()
    if duplicates == "drop":
        edges = [e for i, e in enumerate(edges) if i == 0 or e[:2] != edges[i - 1][:2]]
    offsets = np.zeros(n + 1, np.uint64)
    for u, _, _ in edges:
        offsets[u + 1] += np.uint64(1)
    kept = None if weights is None else np.array([w for _, _, w in edges], weights.dtype)
    return np.cumsum(offsets, dtype=np.uint64), np.array([v for _, v, _ in edges], np.uint32), kept


def assert_same(csr, offsets, targets, weights):
    np.testing.assert_array_equal(csr.offsets, offsets)
    np.testing.assert_array_equal(csr.targets, targets)
    assert csr.offsets.dtype == np.uint64
    assert csr.targets.dtype == np.uint32
    if weights is None:
        assert csr.weights is None
    else:
        np.testing.assert_array_equal(csr.weights, weights)
        assert csr.weights.dtype == weights.dtype


@pytest.fixture
def many_passes(monkeypatch):
    """Set small passes, buckets and slices, so that a small graph has many of each."""
    monkeypatch.setattr(build, "_SMALL_PASS", 64)
    monkeypatch.setattr(build, "_BUCKET", 16)
    monkeypatch.setattr(build, "_BUCKETS", 64)
    monkeypatch.setattr(build, "_MIN_SLICE", 50)


edge_lists = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=150)
    )
)


@settings(max_examples=150, deadline=None)
@given(
    edge_lists,
    st.booleans(),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from([None, np.float32, np.int64]),
    st.integers(0, 1 << 30),
)
def test_agrees_with_the_twin(graph, symmetrise, self_loops, duplicates, dtype, seed):
    n, edges = graph
    src, dst = [u for u, _ in edges], [v for _, v in edges]
    weights = None
    if dtype is not None:
        weights = np.random.default_rng(seed).integers(0, 5, len(edges)).astype(dtype)
    choices = {"symmetrise": symmetrise, "n": n, "self_loops": self_loops, "duplicates": duplicates}
    csr = build.from_edges(src, dst, weights, **choices)
    assert_same(csr, *twin(src, dst, weights, **choices))
    check_csr(csr.offsets, csr.targets, weights=csr.weights)


@pytest.mark.usefixtures("many_passes")
@pytest.mark.parametrize("duplicates", ["keep", "drop"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_passes_over_hubs(duplicates, weighted):
    # The rows use insertion sort, 8-bit and 11-bit digits; the ids have three digits; edges repeat.
    rng = np.random.default_rng(5)
    n = 70_000
    src = np.concatenate([np.full(9000, 17), np.full(300, 64_000), rng.integers(0, n, 4000)])
    dst = rng.integers(0, n, len(src)) // rng.integers(1, 5000, len(src))
    weights = rng.integers(0, 9, len(src)).astype(np.float32) if weighted else None
    choices = {"symmetrise": True, "n": n, "duplicates": duplicates}
    expected = twin(src.tolist(), dst.tolist(), weights, **choices)
    assert_same(build.from_edges(src, dst, weights, **choices), *expected)


def test_agrees_with_scipy_on_a_larger_graph():
    rng = np.random.default_rng(9)
    n, m = 30_000, 1_500_000
    src, dst = (rng.zipf(1.3, (2, m)) * 7919) % n
    csr = build.from_edges(src, dst, symmetrise=False, n=n, duplicates="drop")
    expected = coo_array((np.ones(m, bool), (src, dst)), shape=(n, n)).tocsr()
    expected.sum_duplicates()
    np.testing.assert_array_equal(csr.offsets, expected.indptr)
    np.testing.assert_array_equal(csr.targets, expected.indices)


RARE = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("i1", "u2", "i4", "u4", "u8")]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", *RARE])
def test_weights_keep_their_type(dtype):
    weights = np.array([3, 1, 2, 2], dtype)
    csr = build.from_edges([0, 1, 1, 0], [1, 0, 1, 1], weights, symmetrise=True, n=2, duplicates="drop")
    assert csr.weights.dtype == np.dtype(dtype)
    assert csr.weights.tolist() == [1, 1, 2]


def test_half_precision_weights_are_widened():
    csr = build.from_edges([0], [1], np.array([0.5], np.float16), symmetrise=False, n=2)
    assert csr.weights.dtype == np.float32


def test_big_endian_arrays_are_read():
    csr = build.from_edges(
        np.array([0, 1], ">i8"), np.array([1, 0], ">u4"), np.array([2, 3], ">f8"), symmetrise=False
    )
    assert (csr.targets.tolist(), csr.weights.tolist()) == ([1, 0], [2.0, 3.0])


def test_many_parallel_edges_are_ordered_by_weight():
    weights = np.random.default_rng(0).permutation(5000)
    csr = build.from_edges(np.zeros(5000, int), np.ones(5000, int), weights, symmetrise=False, n=2)
    np.testing.assert_array_equal(csr.weights, np.arange(5000))


def test_same_result_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(build, "_MIN_SLICE", 1000)
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 500, (2, 20_000))
    weights = rng.random(20_000)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            results.append(build.from_edges(src, dst, weights, symmetrise=True))
    finally:
        numba.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- ids --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1, 3, 1000, 10**6, 10**15], ids=lambda s: f"spread {s}")
@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_ids_with_gaps_add_no_vertices(spread, dtype):
    rng = np.random.default_rng(spread)
    if dtype == np.uint32 and spread > 1000:
        spread = 4000  # the ids still fit 32 bits, and are too sparse for a bitmap
    src, dst = (rng.integers(0, 10**6 if dtype == np.uint32 else 900, (2, 3000)) * spread + 5).astype(dtype)
    ids, numbers = np.unique(np.concatenate([src, dst]), return_inverse=True)
    csr = build.from_edges(src, dst, symmetrise=False)
    if csr.ids is None:
        assert ids.tolist() == list(range(len(ids)))
    else:
        np.testing.assert_array_equal(csr.ids, ids)
        assert csr.ids.dtype == np.int64
    expected = twin(numbers[:3000].tolist(), numbers[3000:].tolist(), None, symmetrise=False, n=len(ids))
    assert_same(csr, *expected)


def test_ids_without_gaps_are_not_kept():
    assert build.from_edges([2, 0], [1, 1], symmetrise=False).ids is None


@pytest.mark.parametrize("kind", [list, np.array, lambda s: np.array(s, object), lambda s: np.array(s, "T")])
def test_strings_in_code_point_order(kind):
    src, dst = ["b", "é", "zz", "b"], ["a", "b", "", "Z"]
    csr = build.from_edges(kind(src), kind(dst), symmetrise=False)
    assert csr.ids.tolist() == sorted({*src, *dst})
    number = {name: i for i, name in enumerate(csr.ids.tolist())}
    expected = twin([number[u] for u in src], [number[v] for v in dst], None, symmetrise=False, n=len(number))
    assert_same(csr, *expected)


def test_vertices_without_edges_are_kept():
    csr = build.from_edges([1], [3], symmetrise=True, n=6)
    assert csr.offsets.tolist() == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("n", [None, 0, 3])
@pytest.mark.parametrize("weights", [None, []])
def test_no_edges(n, weights):
    csr = build.from_edges([], [], weights, symmetrise=True, n=n)
    assert csr.offsets.tolist() == [0] * ((n or 0) + 1)
    assert len(csr.targets) == 0
    assert (csr.weights is None) == (weights is None)


def test_only_self_loops_dropped():
    csr = build.from_edges([1, 1], [1, 1], symmetrise=True, n=2, self_loops="drop")
    assert (csr.offsets.tolist(), csr.targets.tolist()) == ([0, 0, 0], [])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0, -1], [1, 1]), r"expected ids of at least 0, found src\[1\] = -1"),
        (([0, 1], np.array([1, -7], np.int8)), r"expected ids of at least 0, found dst\[1\] = -7"),
        (([0.5], [1]), r"expected integers below 2\^53 as ids, found src\[0\] = 0.5"),
        (([1], [np.inf]), r"expected integers below 2\^53 as ids, found dst\[0\] = inf"),
        (([1], [np.nan]), r"expected integers below 2\^53 as ids, found dst\[0\] = nan"),
        (([2.0**60], [1]), "expected integers below"),
        (([2**63], [1]), r"below 2\^63, found src\[0\]"),
        (([0, 1], [1]), "same length, found 2 and 1"),
        (([[0]], [1]), "one dimension"),
        (([True], [False]), "integers or strings, found bool"),
        (([1j], [1]), "integers or strings, found complex"),
        (([1], np.array(["2020-01-01"], "M8[D]")), "integers or strings, found datetime"),
        (([1], [None]), r"Python objects with dst\[0\] = None"),
        ((np.array(["a", 3], object), ["b", "c"]), r"src\[1\] = 3"),
        ((["a", np.nan], ["b", "c"]), r"found strings and src\[1\] = nan"),
        ((["b", "c"], (1, "a")), r"all integers or all strings, found strings and dst\[0\] = 1"),
        ((["a", b"b"], ["b", "c"]), r"src\[1\] = b'b'"),
        ((["a"], [3]), "strings in both or integers in both"),
        (([1], [2], [np.nan]), "found NaN as the weight of edge 0"),
        (([1], [2], [1, 2]), "one entry for each of the 1 edges"),
        (([1], [2], ["x"]), "floats or integers"),
        (([1], [2], [True]), "floats or integers"),
        (([1], [2], np.array([1], np.longdouble)), "up to 64 bits"),
        (([1], [2], [1j]), "floats or integers"),
    ],
)
def test_bad_edges(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        build.from_edges(*arguments, symmetrise=False)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"n": 2}, r"below n = 2, found dst\[0\] = 2"),
        ({"n": -1}, "n=: expected an integer of at least 0, found -1"),
        ({"n": 2.5}, "n=: expected an integer of at least 0, found 2.5"),
        ({"n": True}, "n=: expected an integer of at least 0, found True"),
        ({"n": 1 << 32}, "at most 4,294,967,294"),
        ({"self_loops": "no"}, 'self_loops=: expected "keep" or "drop"'),
        ({"duplicates": None}, 'duplicates=: expected "keep" or "drop"'),
    ],
)
def test_bad_choices(choices, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        build.from_edges([1], [2], symmetrise=False, **choices)


def test_lists_may_contain_all_string_types():
    class Name(str):
        __slots__ = ()

    csr = build.from_edges(["a", np.str_("b")], (Name("b"), "nan"), symmetrise=False)
    assert csr.ids.tolist() == ["a", "b", "nan"]


def test_n_is_rejected_with_string_ids():
    with pytest.raises(ArgumentError, match="remove n"):
        build.from_edges(["a"], ["b"], symmetrise=False, n=2)


def test_a_graph_larger_than_memory_is_rejected(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(OutOfMemoryError, match="1000 bytes") as caught:
        build.from_edges([0] * 500, [1] * 500, symmetrise=True, n=2)
    assert caught.value.needed > caught.value.available == 1000


@pytest.mark.usefixtures("many_passes")
def test_low_memory_needs_more_passes(monkeypatch):
    src, dst = np.random.default_rng(1).integers(0, 300, (2, 4000))
    expected = twin(src.tolist(), dst.tolist(), None, symmetrise=False, n=300)
    monkeypatch.setattr(memory, "available", lambda: 8 * 301 + 4 * 4000 + 8 * 300)
    assert_same(build.from_edges(src, dst, symmetrise=False, n=300), *expected)


# ---- transpose and checks ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(edge_lists, st.booleans())
def test_transpose_and_in_degree(graph, weighted):
    n, edges = graph
    src, dst = [u for u, _ in edges], [v for _, v in edges]
    weights = np.arange(len(edges), dtype=np.float64) if weighted else None
    csr = build.from_edges(src, dst, weights, symmetrise=False, n=n)
    expected = twin(dst, src, weights, symmetrise=False, n=n)
    assert_same(build.transpose(csr.offsets, csr.targets, csr.weights), *expected)
    np.testing.assert_array_equal(build.in_degree(csr.targets, n), np.bincount(dst, minlength=n))


def test_transpose_of_rows_longer_than_a_slice(monkeypatch):
    monkeypatch.setattr(build, "_MIN_SLICE", 7)
    src, dst = np.random.default_rng(2).integers(0, 12, (2, 500))
    csr = build.from_edges(src, dst, symmetrise=False, n=40)
    expected = twin(dst.tolist(), src.tolist(), None, symmetrise=False, n=40)
    assert_same(build.transpose(csr.offsets, csr.targets), *expected)


GOOD = {"offsets": [0, 2, 2, 4], "targets": [0, 2, 0, 1]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"offsets": []}, "offsets: expected n . 1 numbers, found none"),
        ({"offsets": [[0, 4]]}, "one dimension"),
        ({"offsets": [1, 2, 2, 4]}, "expected 0 to 4, the number of targets, found 1 to 4"),
        ({"offsets": [0, 2, 2, 5]}, "expected 0 to 4, the number of targets, found 0 to 5"),
        ({"offsets": [0, 3, 2, 4]}, "expected ascending numbers, found 3 for vertex 1 and then 2"),
        ({"offsets": [0, 2**64 - 1, 2, 4]}, "offsets: expected ascending numbers, found .* for vertex 1"),
        ({"targets": [0, 3, 0, 1]}, "expected vertices below 3, found 3 at edge 1"),
        ({"targets": [2, 0, 0, 1]}, "row of vertex 0, found 2 at edge 0 and then 0"),
        ({"targets": [0, 2, 1, 0]}, "row of vertex 2, found 1 at edge 2"),
        ({"weights": [1.0, 2.0]}, "one entry for each of the 4 edges"),
        ({"weights": [1, 2, np.nan, 3]}, "found NaN as the weight of edge 2"),
        ({"weights": [True] * 4}, "found bool"),
        ({"weights": np.ones(4, np.float16)}, "found float16"),
        ({"ids": [1, 2]}, "one entry for each of the 3 vertices"),
        ({"ids": [1, 2, 2]}, "found 2 for vertex 1 and then 2"),
        ({"ids": ["b", "a", "c"]}, "found b for vertex 0 and then a"),
        ({"ids": [0.5, 1.5, 2.5]}, "integers or strings"),
    ],
)
def test_checks_name_the_broken_rule_and_the_place(change, sentence):
    parts = {"weights": None, "ids": None, **GOOD, **change}
    offsets, targets = np.array(parts["offsets"], np.uint64), np.array(parts["targets"], np.uint32)
    weights, ids = (None if parts[k] is None else np.asarray(parts[k]) for k in ("weights", "ids"))
    with pytest.raises(ArgumentError, match=sentence):
        check_csr(offsets, targets, weights=weights, ids=ids)


def test_checks_accept_correct_arrays():
    offsets, targets = np.array(GOOD["offsets"], np.uint64), np.array(GOOD["targets"], np.uint32)
    check_csr(offsets, targets, weights=np.ones(4), ids=np.array(["a", "b", "c"]))
    check_csr(np.array([0], np.uint64), np.array([], np.uint32))


# ---- memory -----------------------------------------------------------------------------------------

# Linux lets a process reset the peak of its resident memory, which gives the peak of one build.
PEAK = textwrap.dedent("""
    import sys
    import numpy as np
    from evener.graph import csr as build

    def field(name):
        return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(name))

    symmetric, duplicates, n, m, spread, weight = eval(sys.argv[1])
    rng = np.random.default_rng(4)
    for size in (1000, m):  # the first compiles
        src, dst = rng.integers(0, n, (2, size)) * spread
        weights = rng.random(size).astype(weight) if weight else None
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        before = field("VmRSS")
        csr = build.from_edges(src, dst, weights, symmetrise=symmetric, duplicates=duplicates)
        peak = field("VmHWM") - before
    print(peak, sum(a.nbytes for a in csr if a is not None))
""")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux's high-water mark")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param((True, "drop", 1 << 18, 1 << 22, 1, None), marks=pytest.mark.slow),
        pytest.param((False, "keep", 1 << 18, 1 << 23, 1, None), marks=pytest.mark.slow),
        (False, "keep", 1 << 18, 1 << 22, 3, "f4"),
        (True, "keep", 1 << 18, 1 << 22, 1, "f8"),
    ],
    ids=["symmetric", "directed", "directed, gaps, float32", "symmetric, float64"],
)
def test_peak_memory_is_edges_and_twice_the_result(case):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, repr(case)], capture_output=True, text=True, check=True, timeout=120
    )
    peak, result = map(int, done.stdout.split())
    # The input edges do not count. 4 MiB is for slices of edges and for memory that the allocator keeps.
    assert peak <= 2 * result + (4 << 20)


class PatternEdges:
    """Every vertex has an edge to each of the vertices ``0:degree``, in an order that is fast to write."""

    weight_dtype = None

    def __init__(self, n, degree):
        self.n, self.m, self.degree = n, n * degree, degree
        self.tails = (np.arange(n) * 0x9E3779B1 % n).astype(np.uint32)  # a permutation: n is a power of two
        self.heads = (np.arange(n + degree) % degree).astype(np.uint32)

    def fill(self, start, stop, src, dst):
        for block in range(start // self.n, -(-stop // self.n)):
            base = block * self.n
            first, last = max(start, base), min(stop, base + self.n)
            src[first - start : last - start] = self.tails[first - base : last - base]
            base -= 5 * block % self.degree
            dst[first - start : last - start] = self.heads[first - base : last - base]


@pytest.mark.slow
@pytest.mark.timeout(1200)  # busy machines need more than the default
@pytest.mark.release
def test_more_than_2_to_the_31_edges(monkeypatch):
    monkeypatch.setattr(build, "_GENERATED_SHARE", 3)  # one pass more, so that other tests have memory
    source = PatternEdges(1 << 20, (1 << 11) + 61)
    if memory.available() < 7 * source.m:
        pytest.skip(f"needs {memory.format_bytes(7 * source.m)} of memory")
    csr = build.from_source(source, symmetrise=False)
    assert len(csr.targets) == source.m > 1 << 31
    np.testing.assert_array_equal(csr.offsets, np.arange(source.n + 1) * source.degree)
    row = np.arange(source.degree, dtype=np.uint32)
    for rows in csr.targets.reshape(-1, 1 << 10, source.degree):
        assert (rows == row).all()
