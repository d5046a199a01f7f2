"""Files are read as NetworkX, SciPy and pandas read them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy import sparse

import evener as ev


def _matrix(g):
    values = np.ones(g.m) if g.weights is None else g.weights
    return sparse.csr_array(
        (values, g.targets.astype(np.int64), g.offsets.astype(np.int64)), shape=(g.n, g.n)
    )


def _equal(a, b):
    return a.shape == b.shape and abs(sparse.csr_array(a) - sparse.csr_array(b)).sum() == 0


def test_networkx_reads_our_edge_list(tmp_path):
    graph = ev.Graph.from_edges([0, 0, 1, 5], [1, 2, 2, 0], [1.5, 2, 3, 4])
    ev.write(graph, tmp_path / "g.txt")
    theirs = nx.read_edgelist(
        tmp_path / "g.txt", create_using=nx.DiGraph, nodetype=int, data=[("weight", float)]
    )
    assert sorted(theirs.edges(data="weight")) == [(0, 1, 1.5), (0, 2, 2), (1, 2, 3), (5, 0, 4)]


@pytest.mark.parametrize("directed", [True, False])
def test_edge_lists_of_networkx(directed, tmp_path):
    theirs = nx.gnm_random_graph(60, 200, seed=5, directed=directed)
    for a, b in theirs.edges:
        theirs[a][b]["weight"] = a + b / 8
    nx.write_weighted_edgelist(theirs, tmp_path / "w.txt")
    nx.write_edgelist(theirs, tmp_path / "p.txt", data=False)
    order = sorted(n for n in theirs if theirs.degree(n))
    expected = nx.to_scipy_sparse_array(theirs, nodelist=order)
    assert _equal(_matrix(ev.read(tmp_path / "w.txt", directed=directed)), expected)
    plain = ev.read(tmp_path / "p.txt", directed=directed)
    assert plain.ids.tolist() == order
    assert plain.m == expected.nnz


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["pattern", "integer", "real"])
def test_matrix_market_of_scipy(symmetry, field, tmp_path):
    rng = np.random.default_rng(9)
    dense = (rng.random((30, 30)) < 0.1) * rng.integers(1, 9, (30, 30))
    if symmetry == "symmetric":
        dense = dense + dense.T
    theirs = sparse.coo_array(dense.astype(float if field == "real" else int))
    scipy.io.mmwrite(tmp_path / "g.mtx", theirs, comment="by SciPy", field=field, symmetry=symmetry)
    ours = ev.read(tmp_path / "g.mtx")
    assert ours.directed == (symmetry == "general")
    expected = theirs.astype(bool).astype(float) if field == "pattern" else theirs
    assert _equal(_matrix(ours), expected)


@pytest.mark.parametrize("kind", ["real general", "integer general", "real symmetric", "pattern general"])
def test_repeated_entries_in_a_matrix_market_file_are_summed(kind, same, tmp_path):
    weight = (lambda _: "") if kind.startswith("pattern") else str
    entries = [f"2 1 {weight(3)}", f"3 2 {weight(4)}", f"2 1 {weight(-1)}", f"3 3 {weight(7)}"]
    path = tmp_path / "g.mtx"
    path.write_text("\n".join([f"%%MatrixMarket matrix coordinate {kind}", "3 3 4", *entries]) + "\n")
    theirs = scipy.io.mmread(path)
    if kind.startswith("pattern"):
        theirs = theirs.astype(bool)
    for directed in (True, False):
        ours = ev.read(path, directed=directed)
        assert ours.directed == directed
        expected = ev.Graph.from_scipy(theirs, directed=directed)
        same(expected, ours, weight_dtype=False, first_id=1)


def test_unsigned_weights_of_scipy(tmp_path):
    theirs = sparse.coo_array((np.array([7, 2**64 - 1], np.uint64), ([0, 1], [1, 2])), shape=(3, 3))
    scipy.io.mmwrite(tmp_path / "g.mtx", theirs)
    assert "unsigned-integer" in (tmp_path / "g.mtx").read_text()
    assert ev.read(tmp_path / "g.mtx").weights.tolist() == [7, 2**64 - 1]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_skew_symmetric_matrix_of_scipy(dtype, tmp_path):
    theirs = sparse.csr_array(np.array([[0, 4, -1], [-4, 0, 0], [1, 0, 0]], dtype))
    scipy.io.mmwrite(tmp_path / "g.mtx", theirs)
    assert "skew-symmetric" in (tmp_path / "g.mtx").read_text()
    ours = ev.read(tmp_path / "g.mtx")
    assert ours.directed
    assert _equal(_matrix(ours), theirs)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [None, np.int32, np.float64])
def test_scipy_reads_our_matrix_market(directed, dtype, tmp_path):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 20, (2, 60))
    weights = None if dtype is None else (rng.random(60) * 100).astype(dtype)
    graph = ev.Graph.from_edges(src, dst, weights, directed=directed, n=25, duplicates="drop")
    ev.write(graph, tmp_path / "g.mtx.gz")
    assert _equal(scipy.io.mmread(tmp_path / "g.mtx.gz", spmatrix=False), _matrix(graph))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("compressed", [True, False])
def test_npz_of_scipy(layout, index, compressed, tmp_path):
    theirs = sparse.random_array((40, 40), density=0.1, format=layout, rng=np.random.default_rng(8))
    for name in ("indices", "indptr"):
        if hasattr(theirs, name):
            setattr(theirs, name, getattr(theirs, name).astype(index))
    sparse.save_npz(tmp_path / "g.npz", theirs, compressed=compressed)
    assert _equal(_matrix(ev.read(tmp_path / "g.npz")), theirs)


def test_npz_with_unsorted_rows(tmp_path):
    theirs = sparse.csr_array(
        (np.array([1.0, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 2, 3])), shape=(3, 3)
    )
    sparse.save_npz(tmp_path / "g.npz", theirs)
    ours = ev.read(tmp_path / "g.npz")
    assert ours.targets.tolist() == [0, 2, 1]
    assert ours.weights.tolist() == [2, 1, 3]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [float, np.int32, bool])
def test_repeated_entries_in_an_npz_file_are_summed(layout, dtype, same, tmp_path):
    ends = np.array([0, 2, 0, 1]), np.array([1, 0, 1, 2])
    theirs = sparse.coo_array((np.array([1, 5, 2, 4], dtype), ends), shape=(3, 3))
    if layout != "coo":  # SciPy's conversion would sum repeated entries
        order = ends[0] if layout == "csr" else ends[1]
        rows = np.argsort(order, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(order, minlength=3))])
        indices = (ends[1] if layout == "csr" else ends[0])[rows]
        theirs = getattr(sparse, f"{layout}_array")((theirs.data[rows], indices, bounds), shape=(3, 3))
    sparse.save_npz(tmp_path / "g.npz", theirs)
    assert sparse.load_npz(tmp_path / "g.npz").nnz == 4
    ours = ev.read(tmp_path / "g.npz")
    assert ours.weights is None if dtype is bool else ours.weights.tolist() == [3, 4, 5]
    same(ours, ev.Graph.from_scipy(theirs))


@pytest.mark.parametrize("weights", [None, np.float32, np.int64])
def test_scipy_reads_our_npz(weights, tmp_path):
    values = None if weights is None else np.arange(1, 5, dtype=weights)
    graph = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2], values, n=5)
    ev.write(graph, tmp_path / "g.npz")
    assert _equal(sparse.load_npz(tmp_path / "g.npz"), _matrix(graph))


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_tables_of_pandas(suffix, tmp_path):
    frame = pd.DataFrame(
        {"time": [1, 2, 3], "From": ["x", "y", "x"], "To": ["y", "z", "z"], "Weight": [1.5, 2, 3]}
    )
    path = tmp_path / f"t{suffix}"
    {
        ".parquet": frame.to_parquet,
        ".feather": frame.to_feather,
        ".csv": lambda p: frame.to_csv(p, index=False),
    }[suffix](path)
    graph = ev.read(path)
    assert graph.ids.tolist() == ["x", "y", "z"]
    assert graph.targets.tolist() == [1, 2, 2]
    assert graph.weights.tolist() == [1.5, 3, 2]
    times = ev.read(path, columns=["From", "To", "time"])
    assert times.weights.tolist() == [1, 3, 2]


def test_a_categorical_column(tmp_path):
    frame = pd.DataFrame({"src": ["x", "y"], "dst": ["y", "x"]}, dtype="category")
    frame.to_parquet(tmp_path / "t.parquet")
    assert ev.read(tmp_path / "t.parquet").targets.tolist() == [1, 0]


@pytest.mark.parametrize("fmt", ["", " 0", " 1", " 001", " 010", " 011 2", " 100", " 111 3"])
def test_metis_by_hand(fmt, tmp_path):
    """Read the path 1-2-3 with weights 5 and 7 in every layout of the METIS manual, section 4.1.1."""
    code = (fmt.split() or ["0"])[0].rjust(3, "0")
    before = int(code[0]) + (int((fmt.split()[1:] or ["1"])[0]) if code[1] == "1" else 0)
    rows = [[(2, 5)], [(1, 5), (3, 7)], [(2, 7)]]
    lines = [f"% a comment\n3 2{fmt}"]
    for row in rows:
        numbers = [9] * before + [
            x for head, weight in row for x in ((head, weight) if code[2] == "1" else (head,))
        ]
        lines += ["% between", " ".join(map(str, numbers))]
    (tmp_path / "g.graph").write_text("\n".join(lines) + "\n")
    graph = ev.read(tmp_path / "g.graph")
    assert graph.targets.tolist() == [1, 0, 2, 1]
    assert not graph.directed
    assert (graph.weights.tolist() if code[2] == "1" else graph.weights) == (
        [5, 5, 7, 7] if code[2] == "1" else None
    )


def test_dimacs_by_hand(tmp_path):
    (tmp_path / "g.gr").write_text("c Ninth Challenge\np sp 4 3\nc arcs\na 1 2 17\na 2 1 17\na 3 1 5\n")
    graph = ev.read(tmp_path / "g.gr")
    assert (graph.n, graph.targets.tolist(), graph.weights.tolist()) == (4, [1, 0, 0], [17, 17, 5])


def test_gap_by_hand(tmp_path):
    """Check the bytes of the directed edges 0→1 and 0→2, and of the undirected edge 0-1 with weight 6."""
    header = b"\x01" + (2).to_bytes(8, "little") + (3).to_bytes(8, "little")
    out = np.array([0, 2, 2, 2], "<i8").tobytes() + np.array([1, 2], "<i4").tobytes()
    in_ = np.array([0, 0, 1, 2], "<i8").tobytes() + np.array([0, 0], "<i4").tobytes()
    (tmp_path / "g.sg").write_bytes(header + out + in_)
    graph = ev.read(tmp_path / "g.sg")
    assert (graph.directed, graph.offsets.tolist(), graph.targets.tolist()) == (True, [0, 2, 2, 2], [1, 2])
    ev.write(graph, tmp_path / "h.sg")
    assert (tmp_path / "h.sg").read_bytes() == header + out + in_

    header = b"\x00" + (2).to_bytes(8, "little") + (2).to_bytes(8, "little")
    rows = np.array([0, 1, 2], "<i8").tobytes() + np.array([1, 6, 0, 6], "<i4").tobytes()
    (tmp_path / "g.wsg").write_bytes(header + rows)
    graph = ev.read(tmp_path / "g.wsg")
    assert (graph.directed, graph.targets.tolist(), graph.weights.tolist()) == (False, [1, 0], [6, 6])
    ev.write(graph, tmp_path / "h.wsg")
    assert (tmp_path / "h.wsg").read_bytes() == header + rows
