"""Generators: random numbers, distributions and specifications."""

from __future__ import annotations

import itertools

import networkx as nx
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.errors import ArgumentError, OutOfMemoryError
from evener.graph import csr as build
from evener.graph.generators import models as generate
from evener.graph.generators import sources as made
from evener.kernels.cpu import generate as kernels
from evener.system import memory

GRAPH500 = np.array(generate.GRAPH500)


def all_edges(source):
    src, dst = np.empty((2, source.m), np.uint32)
    source.fill(0, source.m, src, dst)
    return src, dst


def sampled(matrix=GRAPH500, power=10, m=1 << 18, seed=1, *, permute=False):
    return made.KroneckerSampler(np.asarray(matrix), power, m, seed, None, permute=permute)


# ---- random words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        # Random123 1.14, examples/kat_vectors: philox4x32, 10 rounds.
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_known_answers(counter, key, words):
    packed = np.uint64(key[0] | key[1] << 32)
    assert list(kernels.philox(*map(np.uint64, counter), packed)) == words


@pytest.mark.parametrize("scale", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("seed", [1, 2**64 - 1])
def test_permutation_is_one_to_one(scale, seed):
    source = sampled(power=max(scale, 1), m=0, seed=seed, permute=True)
    vertices = np.arange(1 << scale, dtype=np.uint32)
    shuffled = vertices.copy()
    with np.errstate(over="ignore"):  # products wrap around
        kernels._permute_all(shuffled, np.uint64((1 << scale) - 1), source.half, source.permutation)
    np.testing.assert_array_equal(np.sort(shuffled), vertices)
    if scale >= 13:
        # Like a random permutation: few fixed points and no correlation.
        assert (shuffled == vertices).sum() < 12
        assert abs(np.corrcoef(shuffled, vertices)[0, 1]) < 6 / np.sqrt(len(vertices))


def makers():
    base = np.array([[0.5, 0.0, 0.1], [0.1, 0.2, 0.0], [0.05, 0.0, 0.05]])
    return [
        sampled(power=21, m=5000, permute=True),
        sampled(base, power=4, m=5000),
        made.UniformEdges(1000, 5000, 3, "1..9"),
        made.GridEdges(30, 40, 1, "real"),
        made.KroneckerPower(np.array([[1.0, 2.0], [1.0, 0.0]]), 8, 1, None),
    ]


@pytest.mark.parametrize("index", range(5))
@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 5000), max_size=6))
def test_slices_do_not_change_the_edges(index, cuts):
    source = makers()[index]
    src, dst = all_edges(source)
    weights = None
    if source.weight_dtype is not None:
        weights = np.empty(source.m, source.weight_dtype)
        source.fill_weights(0, source.m, weights)
    bounds = sorted({0, source.m, *(c for c in cuts if c < source.m)})
    for start, stop in itertools.pairwise(bounds):
        part = np.empty((2, stop - start), np.uint32)
        source.fill(start, stop, *part)
        np.testing.assert_array_equal(part, [src[start:stop], dst[start:stop]])
        if weights is not None:
            some = np.empty(stop - start, weights.dtype)
            source.fill_weights(start, stop, some)
            np.testing.assert_array_equal(some, weights[start:stop])


@pytest.mark.parametrize("spec", ["rmat:12", "rmat:11,directed,weights=int", "uniform:12,weights=real"])
def test_same_graph_on_any_number_of_threads(spec, monkeypatch):
    monkeypatch.setattr(build, "_MIN_SLICE", 5000)
    before = numba.get_num_threads()
    graphs = []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            graphs.append(generate.recipe_of(spec).build())
    finally:
        numba.set_num_threads(before)
    for name in ("offsets", "targets", "weights"):
        np.testing.assert_array_equal(*(getattr(g, name) for g in graphs))


def test_seeds_differ():
    one, same, other = (generate.rmat(8, seed=s).build().targets.tolist() for s in (1, 1, 2))
    assert one == same != other


# ---- distributions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1, 5, 10, 13, 24])
def test_rmat_quadrant_shares_at_every_level(scale):
    m = 1 << 18
    src, dst = all_edges(sampled(power=scale, m=m, seed=scale))
    for level in range(scale):
        quadrant = np.bincount((src >> level & 1) * 2 + (dst >> level & 1), minlength=4)
        deviation = 5 * np.sqrt(m * GRAPH500.ravel())
        assert (abs(quadrant - m * GRAPH500.ravel()) < deviation).all(), level


def test_rmat_levels_are_independent():
    m = 1 << 18
    src, dst = all_edges(sampled(power=24, m=m, seed=8))
    digit = [(src >> level & 1) * 2 + (dst >> level & 1) for level in range(24)]
    expected = m * np.outer(GRAPH500, GRAPH500).ravel()
    for one, other in itertools.combinations(range(24), 2):
        joint = np.bincount(digit[one] * 4 + digit[other], minlength=16)
        # Pearson's chi-square with 15 degrees of freedom exceeds 60 once in two million cases.
        assert ((joint - expected) ** 2 / expected).sum() < 60, (one, other)


@pytest.mark.parametrize(
    "matrix", [GRAPH500, [[1, 0], [3, 7]], np.eye(3) + 0.01, np.random.default_rng(0).random((32, 32))]
)
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_alias_table_has_the_exact_probabilities(matrix, levels):
    matrix = np.asarray(matrix, float)
    rows, columns = np.nonzero(matrix)
    chances = matrix[rows, columns] / matrix.sum()
    while len(chances) ** levels > 1024:  # the table has 1,024 entries
        levels -= 1
    cut, alias, row, column = made._alias_table(chances, rows, columns, len(matrix), levels)
    chance = np.bincount(np.arange(1024), cut, 1024) + np.bincount(alias, 2.0**22 - cut, 1024)
    size = len(matrix) ** levels
    got = np.zeros((size, size))
    np.add.at(got, (row, column), chance / 2**32)
    expected = matrix / matrix.sum()
    for _ in range(levels - 1):
        expected = np.kron(expected, matrix / matrix.sum())
    np.testing.assert_allclose(got, expected, rtol=0, atol=600 / 2**32)


def test_drawn_edges_avoid_zero_entries():
    src, dst = all_edges(sampled([[0.5, 0.2, 0], [0, 0.1, 0.1], [0.1, 0, 0]], power=4, m=20_000))
    digits = [(src // 3**k % 3, dst // 3**k % 3) for k in range(4)]
    seen = {pair for a, b in digits for pair in zip(a.tolist(), b.tolist(), strict=True)}
    assert seen == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 0)}


def test_rmat_has_the_properties_of_graph500():
    g = generate.rmat(12, seed=5).build()
    rows = np.repeat(np.arange(g.n), np.diff(g.offsets).astype(int))
    pairs = set(zip(rows.tolist(), g.targets.tolist(), strict=True))
    assert not g.directed
    assert g.n == 4096
    assert len(pairs) == g.m  # no duplicates
    assert all(u != v and (v, u) in pairs for u, v in pairs)
    # R-MAT degrees are skewed, with many vertices without edges; uniform degrees are not.
    degree = g.out_degree()
    assert degree.max() > 20 * degree.mean()
    assert (degree == 0).sum() > 100
    flat = generate.uniform(12, seed=5).build().out_degree()
    assert flat.max() < 3 * flat.mean()
    assert (flat == 0).sum() == 0


def test_directed_rmat_keeps_every_edge_and_permutation_keeps_the_degrees():
    plain, shuffled = (generate.rmat(10, directed=True, permute=p).build() for p in (False, True))
    assert plain.m == shuffled.m == 16 << 10
    assert plain.directed
    for degree in ("out_degree", "in_degree"):
        one, other = (np.sort(getattr(g, degree)()) for g in (plain, shuffled))
        np.testing.assert_array_equal(one, other)
    assert plain.out_degree()[:16].sum() > shuffled.out_degree()[:16].sum() * 3


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 7), (5, 1), (2, 2), (9, 13)])
def test_grid_equals_networkx(rows, columns):
    g = generate.grid(rows, columns).build()
    lattice = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns), ordering="sorted")
    assert g.n == rows * columns
    for v in range(g.n):
        assert g.targets[g.offsets[v] : g.offsets[v + 1]].tolist() == sorted(lattice[v])


@pytest.mark.parametrize("base", [[[1, 1], [1, 0]], [[0, 1, 0], [0, 0, 1], [1, 1, 0]], [[0.5, 2], [2, 1.5]]])
@pytest.mark.parametrize("power", [1, 2, 5])
def test_exact_kronecker_power_equals_numpy(base, power):
    g = generate.kronecker(base, power).build()
    expected = np.array(base, float)
    for _ in range(power - 1):
        expected = np.kron(expected, base)
    dense = np.zeros((g.n, g.n))
    rows = np.repeat(np.arange(g.n), np.diff(g.offsets).astype(int))
    dense[rows, g.targets] = 1 if g.weights is None else g.weights
    np.testing.assert_allclose(dense, expected)
    assert g.m == np.count_nonzero(expected)
    assert g.directed == (not np.array_equal(np.array(base), np.transpose(base)))


def test_drawn_kronecker_graph_of_the_graph500_matrix_is_unpermuted_rmat():
    drawn = generate.kronecker(generate.GRAPH500, 9, edges=16 << 9).build()
    plain = generate.rmat(9, permute=False).build()
    np.testing.assert_array_equal(drawn.targets, plain.targets)


# ---- weights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["rmat:10", "uniform:10", "grid:20x30"])
@pytest.mark.parametrize(
    ("weights", "dtype", "low", "high"),
    [("int", "i4", 1, 255), ("3..7", "i4", 3, 7), ("5..5", "i4", 5, 5), ("real", "f4", 0, 1)],
)
def test_weights_are_symmetric_and_in_range(spec, weights, dtype, low, high):
    g = generate.recipe_of(f"{spec},weights={weights}").build()
    assert g.weights.dtype == dtype
    assert g.weights.min() >= low
    assert g.weights.max() <= high
    assert (g.weights > 0).all()
    back = build.transpose(g.offsets, g.targets, g.weights)
    np.testing.assert_array_equal(back.weights, g.weights)


def test_weights_are_uniform():
    g = generate.recipe_of("uniform:14,directed,weights=0..9").build()
    count = np.bincount(g.weights, minlength=10)
    assert (abs(count - g.m / 10) < 5 * np.sqrt(g.m / 10)).all()
    g = generate.recipe_of("uniform:14,directed,weights=real").build()
    count, _ = np.histogram(g.weights, 10, (0, 1))
    assert (abs(count - g.m / 10) < 5 * np.sqrt(g.m / 10)).all()


def test_duplicates_keep_the_lightest():
    kept = generate.recipe_of("rmat:5,weights=int,directed").build()
    folded = generate.recipe_of("rmat:5,weights=int").build()
    rows = np.repeat(np.arange(32), np.diff(kept.offsets).astype(int))
    lightest = np.full((32, 32), 999)
    np.minimum.at(lightest, (rows, kept.targets), kept.weights)
    lightest = np.minimum(lightest, lightest.T)
    rows = np.repeat(np.arange(32), np.diff(folded.offsets).astype(int))
    np.testing.assert_array_equal(folded.weights, lightest[rows, folded.targets])


# ---- specifications ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "make"),
    [
        ("rmat:8", lambda: generate.rmat(8).build()),
        (
            "rmat:8,edge_factor=3,seed=9,directed",
            lambda: generate.rmat(8, edge_factor=3, seed=9, directed=True).build(),
        ),
        ("rmat:0", lambda: generate.rmat(0).build()),
        ("uniform:7,weights=1..3", lambda: generate.uniform(7, weights="1..3").build()),
        ("grid:3x5", lambda: generate.grid(3, 5).build()),
        (
            "kronecker:110/011/101,power=3",
            lambda: generate.kronecker([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 3).build(),
        ),
        (
            "kronecker:.5:.2/.2:.1,power=6,edges=99,seed=4",
            lambda: generate.kronecker([[0.5, 0.2], [0.2, 0.1]], 6, edges=99, seed=4).build(),
        ),
    ],
)
def test_specification_gives_the_graph_of_the_call(spec, make):
    one, other = generate.recipe_of(spec).build(), make()
    assert one.directed == other.directed
    for name in ("offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rmat", "starts with one of rmat:, uniform:, grid:, kronecker:"),
        ("foo:3", 'found "foo:3"'),
        ("rmat:", '"rmat:": expected "rmat:SCALE", as in "rmat:20", found "" after'),
        ("rmat:x", 'found "x" after the colon'),
        ("rmat:-1", 'found "-1"'),
        ("rmat:1.5", 'found "1.5"'),
        ("rmat:\u0664", "after the colon"),
        ("rmat:49", '"rmat:49": scale: expected an integer from 0 to 48, found 49'),
        ("rmat:10,", 'found ""'),
        ("rmat:10,foo=1", '"rmat:10,foo=1": expected one of the options .*, found "foo"'),
        ("rmat:10,power=3", "the options edge_factor, seed, directed, weights"),
        ("rmat:10,seed=q", "expected seed=INTEGER"),
        ("rmat:10,seed", "expected seed=INTEGER"),
        ("rmat:10,seed=18446744073709551616", "seed: expected an integer from 0"),
        ("rmat:10,seed=1,seed=2", "found one twice"),
        ("rmat:10,directed=yes", '"directed" without a value'),
        ("rmat:10,edge_factor=99999", "edge_factor: expected an integer from 0 to 16,384"),
        ("rmat:10,weights=", "weights: expected"),
        ("rmat:10,weights=9..1", '"1..255"'),
        ("rmat:10,weights=1..2147483648", r"below 2\^31"),
        ("grid:3", 'expected "grid:ROWSxCOLUMNS"'),
        ("grid:3x", "after the colon"),
        ("grid:3x4x5", "after the colon"),
        ("grid:0x4", "rows: expected an integer from 1"),
        (
            "grid:3x4,directed",
            '"grid:3x4,directed": expected one of the options seed, weights, found "directed"',
        ),
        ("kronecker:11/10", "expected a power"),
        ("kronecker:11/1,power=2", "expected a square base matrix"),
        ("kronecker:1x/10,power=2", "expected a square base matrix"),
        ("kronecker:,power=2", "expected a square base matrix"),
        ("kronecker:1,power=2", "at least 2 x 2"),
        ("kronecker:00/00,power=2", "at least one above 0"),
        ("kronecker:11/10,power=0", "power: expected an integer from 1"),
        ("kronecker:nan:1/1:1,power=2", "finite"),
    ],
)
def test_bad_specifications(spec, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        generate.recipe_of(spec).build()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: generate.rmat(True), "scale: expected an integer"),
        (lambda: generate.rmat(3.0), "scale: expected an integer"),
        (lambda: generate.rmat(3, seed=-1), "seed: expected"),
        (lambda: generate.grid(3, 0), "columns: expected"),
        (lambda: generate.kronecker([[1, 2, 3]], 2), r"shape \(1, 3\)"),
        (lambda: generate.kronecker([["a"]], 2), "square matrix of numbers"),
        (lambda: generate.kronecker([[-1, 1], [1, 1]], 2), "entries of at least 0"),
        (lambda: generate.kronecker([[0, 1], [0, 1]], 2, directed=False), "expected a symmetric matrix"),
        (lambda: generate.kronecker([[0, 1], [1, 1]], 2, weights="int"), "remove weights"),
        (lambda: generate.kronecker(np.ones((40, 40)), 2, edges=9), "at most 1024 non-zero entries"),
        (lambda: generate.kronecker([[1, 1], [1, 1]], 2, edges=-1), "edges: expected"),
    ],
)
def test_bad_arguments(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()


@pytest.mark.parametrize("text", ["graph.txt", "C:rmat", "rmat", "rmat.txt", "./rmat:20", "http://x"])
def test_paths_are_not_specifications(text):
    with pytest.raises(ArgumentError, match="expected a graph specification"):
        generate.recipe_of(text)


@pytest.mark.parametrize(
    "spec", ["rmat:40", "uniform:48", "grid:9999999x9999999", "kronecker:11/11,power=60"]
)
def test_a_graph_larger_than_memory_is_rejected_before_allocation(spec):
    with pytest.raises(
        OutOfMemoryError, match=r"needs .* \([0-9,]+ bytes\), but only .* are available"
    ) as caught:
        generate.recipe_of(spec).build()
    assert caught.value.needed > caught.value.available > 0


def test_more_vertices_than_32_bit_numbers_is_an_argument_error(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 << 60)
    with pytest.raises(ArgumentError, match="at most 4,294,967,294 vertices"):
        generate.rmat(32).build()


@pytest.mark.parametrize("spec", ["rmat:8,directed", "uniform:7,directed,seed=4,weights=1..255"])
def test_storing_in_edges_gives_the_same_graph(spec):
    g, by_heads = generate.recipe_of(spec).build(), generate.recipe_of(f"{spec},stored=in").build()
    assert (g.stored_directions, by_heads.stored_directions) == (("out",), ("in",))
    np.testing.assert_array_equal(by_heads.reverse.offsets, g.reverse.offsets)
    np.testing.assert_array_equal(by_heads.reverse.targets, g.reverse.targets)
    np.testing.assert_array_equal(by_heads.targets, g.targets)
    assert generate.recipe_of(f"{spec},stored=out").build().stored_directions == ("out",)
    if g.weights is not None:
        np.testing.assert_array_equal(by_heads.reverse.weights, g.reverse.weights)
        np.testing.assert_array_equal(by_heads.weights, g.weights)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rmat:5,stored=in", 'stored: expected "out" for an undirected graph'),
        ("rmat:5,directed,stored=both", 'stored: expected "out" or "in", found \'both\''),
    ],
)
def test_invalid_values_of_stored(spec, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        generate.recipe_of(spec).build()
