"""Each format reads back every kind of graph that it writes, or rejects the graph with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import evener as ev
from contracts.formats import FormatContract
from evener.graph.formats.file import Source
from evener.system.files import atomic_write

FULL = [".txt", ".txt.gz", ".tsv.zst", ".edges.bz2", ".parquet", ".arrow", ".feather", ".evg"]
NUMBERED = [".mtx", ".mtx.gz", ".sg", ".wsg", ".gr", ".gr.zst", ".graph", ".metis.gz", ".npz"]


class TestLosslessFormats(FormatContract):
    """These formats lose nothing of any kind of graph."""

    suffixes = tuple(FULL)


class TestFormatsThatNumberVertices(FormatContract):
    """These formats reject graphs that they cannot store."""

    suffixes = tuple(NUMBERED)
    stores_float32 = False

    def read_options(self, graph, suffix):
        return {"directed": graph.directed} if suffix == ".npz" else {}

    def refusal(self, graph, suffix):
        real = graph.weights is not None and graph.weights.dtype.kind == "f"
        if suffix == ".sg":
            return None if graph.weights is None else "write .wsg"
        if suffix == ".wsg":
            return "write .sg" if graph.weights is None else "int32" if real else None
        if suffix.startswith(".gr") and not suffix.startswith(".graph"):
            return "integer weights" if real else None
        if suffix.startswith((".graph", ".metis")):
            if graph.directed:
                return "undirected"
            return "positive integer weights" if real else "self-loops" if _has_loops(graph) else None
        return None


class TestGraphalytics(FormatContract):
    suffixes = (".properties", ".v.gz", ".e.zst")
    stores_float32 = False

    def refusal(self, graph, suffix):
        return "expected integer ids" if graph.has_string_ids else None


def _has_loops(g):
    rows = np.repeat(np.arange(g.n), np.diff(g.offsets).astype(int))
    return bool((rows == g.targets).any())


@pytest.mark.parametrize("named", ["g.e", "g.v.gz", "g.properties"])
def test_unnamed_files_are_not_overwritten(named, tmp_path):
    """The suffixes are also those of Verilog sources and Java properties."""
    graph = ev.read("grid:3x3")
    packed = ".gz" if named.endswith(".gz") else ""
    others = {"g.properties": "port = 1\n", f"g.v{packed}": "module x;\n", f"g.e{packed}": "?"}
    del others[named]
    for name, content in others.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(ev.FileError, match=rf"cannot write .*{named}: {name} exists and belongs to no "):
            ev.write(graph, tmp_path / named)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_text() == content
        (tmp_path / name).unlink()
    (tmp_path / named).write_text("old")  # a named file is overwritten
    ev.write(graph, tmp_path / named)
    ev.write(ev.read("grid:2x2"), tmp_path / named)  # so are the other files of a graph
    assert ev.read(tmp_path / named).n == 4


@pytest.mark.parametrize("name", ["--", "->", "[a", "a]", "a;", "a|", "source", "target", "1", "id"])
def test_names_like_other_syntax(name, same, tmp_path):
    """Without the heading of a written file, some of these names in the first line are refused."""
    edges = pa.table({"source": [name, "b"], "target": [name, name], "weight": [2.5, 0.5]})
    graph = ev.Graph.from_arrow(edges, directed=True)
    ev.write(graph, tmp_path / "g.txt")
    same(graph, ev.read(tmp_path / "g.txt"))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_csv_keeps_the_edges(suffix, graphs, same, tmp_path):
    path = tmp_path / f"g{suffix}"
    for kind, graph in graphs.items():
        ev.write(graph, path)
        if kind.endswith("a vertex without edges"):
            # CSV omits vertices without edges: here vertices 1 and 4.
            assert ev.read(path).ids.tolist() == [graph.ids[0], *graph.ids[2:4]]
            continue
        back = ev.read(path, directed=graph.directed, n=None if graph.has_custom_ids else graph.n)
        same(graph, back, weight_dtype=kind != "float32 weights")


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("edge list", ".dat"),
        ("csv", ".dat"),
        ("Matrix Market", ".dat"),
        ("parquet", ".bin"),
        ("evg", ".folder"),
        (".npz", ".x"),
        ("arrow", ""),
    ],
)
def test_format_by_name(name, suffix, graphs, same, tmp_path):
    path = tmp_path / f"g{suffix}"
    ev.write(graphs["directed"], path, format=name)
    assert path.exists()
    back = ev.read(path, format=name, n=50 if name == "csv" else None)
    same(graphs["directed"], back)


@st.composite
def _graphs(draw):
    kind = draw(st.sampled_from(["numbers", "ids", "names"]))
    one = {
        "numbers": st.integers(0, 9),
        "ids": st.integers(0, 2**63 - 1),
        "names": st.text("abcXYZ019_.äß-", min_size=1, max_size=6),
    }[kind]
    ends = draw(st.lists(st.tuples(one, one), min_size=kind != "numbers", max_size=20))
    weight = draw(
        st.sampled_from(
            [
                None,
                st.floats(allow_nan=False, allow_infinity=False),
                st.floats(allow_nan=False, allow_infinity=False, width=32).map(np.float32),
                st.integers(-(2**31), 2**31 - 1),
            ]
        )
    )
    weights = None
    if weight is not None:
        given_weights = draw(st.lists(weight, min_size=len(ends), max_size=len(ends)))
        dtype = None if given_weights else np.float64
        weights = np.array(given_weights, dtype=dtype)
    return ev.Graph.from_edges(
        [a for a, _ in ends],
        [b for _, b in ends],
        weights,
        directed=draw(st.booleans()),
        n=12 if kind == "numbers" else None,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=_graphs(), suffix=st.sampled_from(FULL))
def test_any_graph(graph, suffix, same, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / f"g{suffix}"
    ev.write(graph, path)
    same(graph, ev.read(path))


@pytest.mark.parametrize("suffix", [".npz", ".sg", ".evg", ".graph", ".txt"])
def test_loops_and_duplicates_are_dropped_on_request(suffix, tmp_path):
    loops = suffix != ".graph"
    src = [0, 0, 1, 2, *([2] if loops else [])]
    dst = [1, 1, 2, 0, *([2] if loops else [])]
    ev.write(ev.Graph.from_edges(src, dst, directed=False), tmp_path / f"g{suffix}")
    kept = ev.read(tmp_path / f"g{suffix}", directed=False)
    assert kept.m == 8 + loops
    dropped = ev.read(tmp_path / f"g{suffix}", directed=False, self_loops="drop", duplicates="drop")
    assert dropped.targets.tolist() == [1, 2, 0, 2, 0, 1]
    assert not dropped.directed


@pytest.mark.parametrize("suffix", [".npz", ".sg", ".evg", ".gr", ".mtx", ".properties"])
def test_the_caller_overrides_direction(suffix, tmp_path):
    both = ev.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], n=3)
    ev.write(both, tmp_path / f"both{suffix}")
    undirected = ev.read(tmp_path / f"both{suffix}", directed=False)
    assert not undirected.directed
    assert undirected.m == (8 if suffix == ".properties" else 4)
    assert ev.read(tmp_path / f"both{suffix}", directed=True).m == 4

    one_way = ev.Graph.from_edges([0, 1], [1, 2], n=3)
    ev.write(one_way, tmp_path / f"one{suffix}")
    undirected = ev.read(tmp_path / f"one{suffix}", directed=False)
    assert not undirected.directed
    assert undirected.targets.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize("suffix", [".npz", ".wsg", ".evg", ".gr", ".mtx"])
def test_one_direction_of_an_undirected_edge_gives_both(suffix, same, tmp_path):
    """The smaller of two weights counts, as in `Graph.from_scipy`."""
    matrix = sparse.csr_array(np.array([[0, 5, 0], [3, 0, 2], [0, 0, 7]], np.int32))
    ev.write(ev.Graph.from_scipy(matrix), tmp_path / f"g{suffix}")
    back = ev.read(tmp_path / f"g{suffix}", directed=False)
    same(ev.Graph.from_scipy(matrix, directed=False), back, first_id=int(back.ids[0]))


@pytest.mark.parametrize("suffix", [".mtx", ".sg", ".evg"])
def test_an_undirected_file_read_as_directed_has_both_edges(suffix, tmp_path):
    ev.write(ev.Graph.from_edges([0, 1], [1, 2], directed=False), tmp_path / f"g{suffix}")
    graph = ev.read(tmp_path / f"g{suffix}", directed=True)
    assert graph.directed
    assert graph.targets.tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".parquet", ".mtx", ".gr", ".wsg", ".npz", ".evg", ".v"])
def test_weights_are_omitted_on_request(suffix, tmp_path):
    graph = ev.Graph.from_edges([0, 1], [1, 0], np.array([3, 4], dtype=np.int32))
    ev.write(graph, tmp_path / f"g{suffix}")
    assert ev.read(tmp_path / f"g{suffix}", weighted=False).weights is None
    assert ev.read(tmp_path / f"g{suffix}", weighted=True).weights.tolist() == [3, 4]


@pytest.mark.parametrize("weight", [np.inf, -np.inf])
def test_only_formats_that_can_read_infinite_weights_write_them(weight, tmp_path):
    graph = ev.Graph.from_edges([0, 1], [1, 0], [1.5, weight])
    for suffix in (".txt", ".el.gz", ".mtx", ".properties", ".e"):
        with pytest.raises(
            ev.ArgumentError,
            match=rf"found {weight}; write .csv, .npz, .parquet",
        ):
            ev.write(graph, tmp_path / f"g{suffix}")
    assert list(tmp_path.iterdir()) == []
    for suffix in (".csv", ".npz", ".parquet", ".arrow", ".evg"):
        ev.write(graph, tmp_path / f"g{suffix}")
        assert ev.read(tmp_path / f"g{suffix}").weights.tolist() == [1.5, weight]


@pytest.mark.parametrize("suffix", [*FULL, ".csv", ".csv.gz", ".mtx", ".properties", ".v.zst", ".npz"])
def test_float32_weights_are_read_back_exactly(suffix, tmp_path):
    """float32 cannot represent 1/3 and 0.1 exactly."""
    weights = np.array([1 / 3, 0.1, 2.0**-149, 3e38], np.float32)
    ev.write(ev.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights), tmp_path / f"g{suffix}")
    assert ev.read(tmp_path / f"g{suffix}").weights.tolist() == weights.tolist()


@pytest.mark.parametrize("name", ["a\nb", "\ra", ""])
@pytest.mark.parametrize("at_first", [True, False])
def test_names_with_line_breaks_are_not_written_to_csv(name, at_first, tmp_path):
    graph = ev.Graph.from_edges([name, "x"], ["c", "y"]) if at_first else ev.Graph.from_edges(["c"], [name])
    with pytest.raises(
        ev.ArgumentError,
        match="a CSV file, where ids must not be empty or hold line breaks",
    ):
        ev.write(graph, tmp_path / "g.csv")
    assert list(tmp_path.iterdir()) == []
    for suffix in (".parquet", ".arrow", ".evg"):
        ev.write(graph, tmp_path / f"g{suffix}")
        back = ev.read(tmp_path / f"g{suffix}")
        assert back.ids.tolist() == graph.ids.tolist()
        assert (back.targets == graph.targets).all()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_names_with_nul_in_files_are_rejected(suffix, tmp_path):
    """NumPy would end the strings at NUL, and two vertices would get the same name."""
    path = tmp_path / f"g{suffix}"
    table = pa.table({"src": ["a\0x", "a\0y"], "dst": ["b", "c"]})
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    with pytest.raises(ev.FormatError, match=r"ids without the character NUL, found 'a.x00x'"):
        ev.read(path)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "el", "mtx", "parquet", "arrow"])
def test_a_file_name_that_is_not_utf8_is_an_error(tmp_path, suffix):
    """PyArrow requires paths in UTF-8; Linux allows any bytes."""
    graph, plain = ev.read("rmat:4"), tmp_path / f"plain.{suffix}"
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9." + suffix.encode()))
    with pytest.raises(ev.FileError, match=r"^cannot write .*: its name is not UTF-8; use a UTF-8 name$"):
        ev.write(graph, named)
    assert list(tmp_path.iterdir()) == []
    ev.write(graph, plain)
    plain.rename(named)
    with pytest.raises(ev.FileError, match=r"^cannot read .*: its name is not UTF-8; use a UTF-8 name$"):
        ev.read(named)


def test_the_target_of_a_link_must_have_a_utf8_name(tmp_path):
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    (tmp_path / "link.csv").symlink_to(named)
    with pytest.raises(ev.FileError, match="its name is not UTF-8"):
        ev.write(ev.read("rmat:4"), tmp_path / "link.csv")


@pytest.mark.parametrize(
    "doing", [atomic_write, lambda path: Source(path).translate_errors()], ids=["writing", "reading"]
)
def test_other_encoding_errors_are_not_translated(tmp_path, doing):
    with pytest.raises(UnicodeEncodeError, match="surrogates"), doing(tmp_path / "plain.csv"):
        "\ud800".encode()
