"""Ranks that each read a part of a graph get the partitions and the answers of one process."""

from __future__ import annotations

import pickle
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evener as ev
from evener.graph.formats.file import Source
from evener.graph.formats.text_part import part_of
from evener.graph.generators.sources import KroneckerSampler
from evener.partition.policy import find_policy, policy_names
from evener.system.world import current_world
from evener.testing.ranks import run_ranks
from support.expected_results import ITERATIONS, Truth, whole
from support.pair_cover import pairwise_cover

ROWS = import_module("evener.partition.distributed.rows")


def assert_same_edges(one, other):
    assert (one is None) == (other is None)
    if one is not None:
        for name in ("offsets", "targets", "weights", "blocks", "rows", "boundary"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_same_partitions(found, expected):
    """Check that partitions have equal vertices, mirrors, degrees and edges."""
    assert [p.index for p in found] == [p.index for p in expected]
    for one, other in zip(found, expected, strict=True):
        for name in ("vertices", "mirror_bounds", "out_degree", "connected"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert_same_edges(one.out, other.out)
        assert_same_edges(one.in_, other.in_)


def check(source, ranks, *, on="cpu:1", reading=None, **how):
    """Compare the partitions of ranks that read parts with those of one process with as many elements."""
    reading = reading or {}
    expected = ev.partition(ev.read(source, **reading), [*on.split(",")] * ranks, **how)
    graph = expected.graph

    def place(_):
        pg = ev.partition(source, on, **how, **reading)
        same = (pg.graph.n, pg.graph.m, pg.graph.directed, pg.graph.weight_dtype, pg.graph.weight_range)
        assert same == (graph.n, graph.m, graph.directed, graph.weight_dtype, graph.weight_range)
        assert (pg.block_ids == graph.ids[pg.block.start : pg.block.stop]).all()
        return pg.partitions

    parts = [partition for own in run_ranks(ranks, place) for partition in own]
    assert_same_partitions(parts, expected.partitions)


SPECS = ["rmat:8,weights=1..255", "rmat:7,directed,stored=in", "grid:5x7", "kronecker:11/10,power=4"]
HOW = {
    1: {"policy": "random", "directions": "both"},
    2: {"policy": "high", "directions": "out", "alpha": 0.4, "on": "cpu:1,cpu:1"},
    3: {"policy": "low", "directions": "in", "alpha": 0.4},
    4: {"policy": "C-R", "directions": "both", "seed": 3},
}


def test_each_rank_generates_its_own_edges(monkeypatch):
    """No rank computes an edge outside its third of the edges."""
    fill, found = KroneckerSampler.fill, {}

    def noted(self, start, stop, *ends):
        found.setdefault(current_world().rank, []).append((start, stop))
        fill(self, start, stop, *ends)

    monkeypatch.setattr(KroneckerSampler, "fill", noted)
    run_ranks(3, lambda _: ev.partition("rmat:9,edge_factor=6", "cpu:1"))
    bounds = {rank: (min(ranges)[0], max(ranges)[1]) for rank, ranges in found.items()}
    assert bounds == {0: (0, 1024), 1: (1024, 2048), 2: (2048, 3072)}


@pytest.mark.parametrize("ranks", HOW)
@pytest.mark.parametrize("spec", SPECS)
def test_generators(spec, ranks):
    check(spec, ranks, **HOW[ranks])


# These policies divide vertices among the ranks, and then among the elements of each rank.
BY_RANK = [name for name in policy_names() if name.startswith(("DP-", "PD-"))]


@pytest.mark.parametrize(
    ("policy", "ranks", "spec", "weights", "directed", "directions"),
    pairwise_cover(
        policy_names(),
        [1, 2, 3],
        ["rmat:7", "uniform:6,edge_factor=4"],
        ["", ",weights=1..255", ",weights=real"],
        [False, True],
        ["out", "in", "both"],
    ),
)
def test_three_ways_to_place_a_graph(policy, ranks, spec, weights, directed, directions):
    """One process, ranks with the whole graph and ranks that generate parts have equal partitions."""
    if policy == "metis":
        pytest.importorskip("pymetis")
    spec += weights + ",directed" * directed
    how = {"policy": policy, "alpha": 0.4, "directions": directions, "seed": 2}
    graph = ev.read(spec)

    def place(given):
        placed = run_ranks(ranks, lambda _: ev.partition(given, "cpu:1,cpu:1", **how))
        return [p for pg in placed for p in pg.partitions], {
            k: r for pg in placed for k, r in routes(pg).items()
        }

    ways = [place(graph)]
    if find_policy(policy).needs != "edges" or ranks == 1:
        ways.append(place(spec))
    if policy not in BY_RANK:
        pg = ev.partition(graph, ["cpu:1"] * 2 * ranks, **how)
        ways.append((pg.partitions, routes(pg)))
    (expected, expected_routes), *others = ways
    for found, found_routes in others:
        assert_same_partitions(found, expected)
        assert found_routes == expected_routes


def routes(pg):
    """Return the mirrors of each route to a vertex of this rank, by the two partitions."""
    own = {partition.index for partition in pg.partitions}
    return {
        (route.mirror_partition, route.owner): (route.begin, route.first, route.index.tolist())
        for route in pg.routes
        if route.owner in own
    }


def test_policies_that_need_all_edges_are_rejected():
    def run(_):
        sentence = "ldg needs all edges of the graph, and each rank knows only .*; use one of C-PG, "
        with pytest.raises(ev.ArgumentError, match=sentence):
            ev.partition("rmat:5", "cpu:1", policy="ldg")

    run_ranks(2, run)


def check_answers(source, graph):
    """Check all algorithms on a distributed graph, and on its path or spec."""
    truth = Truth(graph, int(graph.out_degree().argmax()))
    jumps = {int(graph.ids[3]): 2.0, int(graph.ids[-1]): 1.0}
    expected = ev.pagerank(graph, personalization=jumps)["rank"]

    def run(_):
        pg = ev.partition(source, "cpu:1", policy="high", alpha=0.3)
        truth.check_placed(pg)
        np.testing.assert_allclose(whole(ev.pagerank(pg, personalization=jumps), "rank"), expected, rtol=1e-5)
        truth.check_bfs(ev.bfs(source, source=truth.source))
        truth.check_sssp(ev.sssp(source, source=truth.source))
        truth.check_pagerank(ev.pagerank(source, tol=0, max_iter=ITERATIONS))
        truth.check_wcc(ev.wcc(source))
        with pytest.raises(ev.UnknownVertexError, match="vertex -1 is not in the graph"):
            ev.bfs(pg, source=-1)
        with pytest.raises(ev.ArgumentError, match="give the path or spec again"):
            ev.partition(pg.graph, "cpu:1")

    run_ranks(3, run)


def test_answers():
    check_answers("rmat:7,weights=1..255", ev.read("rmat:7,weights=1..255"))


def test_answers_with_ids_beyond_32_bits(tmp_path):
    """Sources, parents and components are ids, which need 64 bits even if vertex numbers do not."""
    ends = np.random.default_rng(3).integers(0, 60, (2, 300)) * 7 + (1 << 62)
    ends[ends == (1 << 62) + 7] = 5
    graph = ev.Graph.from_edges(*ends, np.linspace(0.5, 3, 300))
    ev.write(graph, tmp_path / "g.txt")
    check_answers(str(tmp_path / "g.txt"), graph)


def test_rows_are_exchanged_in_rounds(monkeypatch):
    """With little memory per round, ranks exchange rows in several rounds and edges in many chunks."""
    monkeypatch.setattr(ROWS, "_MIN_CHUNK", 1 << 7)
    monkeypatch.setattr(ROWS, "_ROUND_BYTES", 1 << 10)
    check("rmat:9,directed,weights=real", 3)


def test_runs_that_are_nearly_full_get_all_mirrors(monkeypatch):
    monkeypatch.setattr(import_module("evener.partition.partition"), "LONG_RUN", 16)
    check("rmat:8", 3)


TEXTS = {
    "comments and no last newline": b"# Undirected graph\r\n3 9\r\n# a\r\n9 4\r\n\r\n4 4\r\n3 9\r\n1000 3",
    "weights of several types": b"0 1 2\n1 2 3.5\n2 0 12345678901234567890\n5 0 1e3\n",
    "large integers": b"0 1 9007199254740993\n1 2 -4\n2 3 5\n",
    "ids 0 to n-1": b"# Ids: 0 to 6\n0 1\n5 2\n",
    "vertices without edges": b"# Without edges: 7 70\n# Weights: uint8\n1 2 200\n2 3 7\n",
    "sparse ids": b"9000000000000000000 5\n5 77000000000\n77000000000 1\n1 5\n",
    "heading only": b"# Directed graph\n# Ids: 0 to 2\n",
    "one line": b"0 1\n",
    "names and weights": b"# Undirected graph\nann,bob,2\nbob,eve,1.5,\n# a\n1,ann,3\n",
    "a leading zero at the end": b"# Without edges: 5\n0 1\n" + b"1 2\n" * 20 + b"02 2\n",
    "column names": b"u v\n0 1\n1 2\n",
    "column names and weights": b"# Undirected graph\nsrc,dst,weight\n7,2,300\n2,9,5\n",
    "column names and a leading zero": b"source\ttarget\n1\t2\n02\t1\n",
    "integers with a point": b"# Without edges: 3 9\n1.0 2.0\n2.0 7.0\n7.0 1.0\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path, name):
    """Lines may cross the borders of parts, and there may be more ranks than lines."""
    file = tmp_path / "g.txt"
    file.write_bytes(TEXTS[name])
    for ranks in (1, 3, 4):
        check(file, ranks)


def test_a_text_that_is_removed_before_ranks_divide_it(tmp_path):
    def run(world):
        with pytest.raises(ev.FileError, match=r"cannot read .*absent\.txt: no such file"):
            part_of(world, Source(tmp_path / "absent.txt"))

    run_ranks(2, run)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_text(tmp_path, monkeypatch, suffix):
    """Ranks take turns in the chunks of a file, after comments that are longer than a chunk."""
    stream = import_module("evener.graph.formats.text_stream")
    monkeypatch.setattr(stream, "MIN_CHUNK_BYTES", 1 << 9)
    ends = np.random.default_rng(3).integers(0, 300, (2, 2000)) * 7 + (1 << 33)
    graph = ev.Graph.from_edges(*ends, np.arange(2000) / 8)
    offsets, ids = np.append(graph.offsets, [graph.m] * 200), np.append(graph.ids, np.arange(200) + (1 << 40))
    more = ev.Graph(offsets.astype(np.uint64), graph.targets, weights=graph.weights, ids=ids, directed=True)
    file = tmp_path / f"g.txt{suffix}"
    ev.write(more, file)
    check(file, 3)
    (tmp_path / "h.txt").write_bytes(b"# a\n" + b"0 1\n" * 900 + b"2 x\n" + b"0 1\n" * 900 + b"y 0\n")
    with (tmp_path / "h.txt").open("rb") as text, pa.output_stream(str(tmp_path / f"h.txt{suffix}")) as out:
        out.write(text.read())

    def run(_):
        with pytest.raises(ev.FormatError, match=f"h.txt{suffix}, line 902: expected two integer"):
            ev.partition(tmp_path / f"h.txt{suffix}", "cpu:1")

    run_ranks(3, run)


def test_text_with_options(tmp_path):
    file = tmp_path / "g.txt"
    lines = np.random.default_rng(3).integers(0, 300, (2000, 3))
    np.savetxt(file, lines, fmt="%d")
    options = {"directed": False, "self_loops": "drop", "duplicates": "drop"}
    check(file, 3, reading=options)
    check(file, 2, reading={"n": 400, "weighted": False}, policy="high", alpha=0.3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"0 1\n" * 50 + b"2 x\n" + b"0 1\n" * 40, r"line 51: expected two integer vertex ids"),
        (b"0 1\n" * 50 + b"-2 3\n" + b"0 1 7\n", r"line 51: expected a vertex id .* found a negative id"),
        (b"# Nodes: 3 Edges: 200\n" + b"0 1\n" * 50, r"line 51: expected 200 edges"),
        (b"# Ids: 0 to 6\n" + b"0 1\n" * 50 + b"0 7\n", r"expected ids below n = 7, found 7"),
        (b"# Ids: 0 to 4294967295\n0 4294967295\n", r"expected at most 4,294,967,294 vertices"),
        (b"ann bob\n" * 90 + b'ann "b o b"\n', r"line 91: expected fields without quotes and one kind"),
        (b"ann bob\n" * 90 + b"ann bob 3\n", r"line 91: expected 2 fields"),
        (b"# a\nsource\ttarget\nann\tbob\n", r"line 2: expected an edge, found column names; convert"),
        (b"u v\n" + b"0 1\n" * 50 + b"# 2\n" + b"0 1\n" * 9, r"line 52: expected two integer vertex ids"),
    ],
)
def test_an_error_in_one_part_is_raised_on_all_ranks(tmp_path, text, sentence):
    file = tmp_path / "g.txt"
    file.write_bytes(text)

    def run(_):
        with pytest.raises(ev.EvenerError, match=sentence):
            ev.partition(file, "cpu:1")

    run_ranks(3, run)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("g.mtx", "Matrix Market files cannot be read in parts"),
        ("g.e.gz", "gzip data cannot be read in parts"),
        ("none.txt", "there is no file"),
        ("rmat:33", r"expected at most 4,294,967,294 vertices \(2\^32 - 2\), found 8,589,934,592"),
    ],
)
def test_sources_that_ranks_cannot_read_in_parts(tmp_path, name, sentence):
    file = name if ":" in name else str(tmp_path / name)
    if name.startswith("g."):
        ev.write(ev.read("rmat:4"), file)

    def run(_):
        with pytest.raises(ev.EvenerError, match=sentence):
            ev.bfs(file, source=0)

    run_ranks(2, run)


@pytest.mark.parametrize(
    "options", [{}, {"directed": True, "weighted": False}, {"self_loops": "drop", "duplicates": "drop"}]
)
def test_containers(tmp_path, options):
    """Containers may have ids beyond 32 bits, and directed or undirected rows."""
    ends = np.random.default_rng(3).integers(0, 90, (2, 500)) * 7 + (1 << 33)
    for directed in (True, False):
        file = tmp_path / "g.evg"
        ev.write(ev.Graph.from_edges(*ends, np.arange(500), directed=directed), file)
        check(file, 3, reading=options, alpha=0.3)
        check(file, 2, reading=options, directions="in", policy="high", on="cpu:1,cpu:1")


@pytest.mark.parametrize("suffix", [".evg", ".parquet", ".txt"])
def test_string_ids(tmp_path, suffix):
    """Names of unequal lengths, with and without edges. A copy for another process has the names too."""
    tails = ["anna", "nora", "nora", "a", "βeta", "a-long-name"] * 9
    graph = ev.Graph.from_edges(tails, ["xenia", "yo", "z", "anna", "a", "zz"] * 9, directed=False)
    more = np.append(graph.offsets, graph.offsets[-1:])
    graph = ev.Graph(more, graph.targets, ids=np.append(graph.ids, "ω"), directed=False)
    file = str(tmp_path / f"g{suffix}")
    ev.write(graph, file)
    expected = ev.bfs(graph, source="nora")

    def run(_):
        result = ev.bfs(file, source="nora", on="cpu:1")
        copy = pickle.loads(pickle.dumps(result))
        assert copy["parent"].tolist() == result["parent"].tolist()
        assert copy.ids.tolist() == result.ids.tolist()
        with pytest.raises(ev.ArgumentError, match="found a pickled copy; read the graph again"):
            copy.graph.numbers_of(["nora"])
        assert (whole(result, "distance") == expected["distance"]).all()
        assert result.top(2) == expected.top(2)
        ev.verify(result)
        if (gathered := result.gather()) is not None:  # on rank 0
            with pytest.raises(ev.ArgumentError, match=r"verify the result on all ranks before gather\(\)"):
                ev.verify(gathered)

    check(file, 2)
    run_ranks(3, run)


@pytest.mark.parametrize("suffix", [".parquet", ".properties"])
def test_tables_and_graphalytics(tmp_path, suffix):
    """Graphs have ids beyond 32 bits and vertices without edges, or ids 0 to n-1, directions and weights."""
    ends = np.random.default_rng(3).integers(0, 90, (2, 300)) * 7 + (1 << 33)
    graph = ev.Graph.from_edges(*ends, directed=False, duplicates="drop")
    rows = (graph.offsets, graph.targets)
    more = np.append(graph.offsets, graph.offsets[-1])
    ids = np.append(graph.ids, 1 << 40)
    file = tmp_path / f"g{suffix}"
    ev.write(ev.Graph(more, rows[1], ids=ids, directed=False), file)
    check(file, 3, alpha=0.3)
    ev.write(ev.read("rmat:6,directed,weights=real"), tmp_path / f"h{suffix}")
    check(tmp_path / f"h{suffix}", 2, policy="high")


def test_ranks_divide_row_groups(tmp_path):
    table = pa.table({"from": range(100), "to": [7] * 100, "weight": [1.5] * 100})
    pq.write_table(table, tmp_path / "g.parquet", row_group_size=9)
    check(tmp_path / "g.parquet", 4, reading={"duplicates": "drop"})
    pq.write_table(
        table.set_column(0, "from", [[-1, *range(99)][::-1]]), tmp_path / "h.parquet", row_group_size=9
    )

    def run(_):
        with pytest.raises(ev.FormatError, match="column 'from' has -1 in row 100"):
            ev.partition(tmp_path / "h.parquet", "cpu:1")

    run_ranks(3, run)


@pytest.mark.parametrize(
    ("vertices", "edges", "sentence"),
    [
        ("1\n2\n5\n", "1 2\n5 7\n", "vertex 7, which the vertex file lacks"),
        ("1\n2\n5\n2\n", "1 2\n", "expected distinct vertex ids"),
        ("1\n2\n5\nx\n", "1 2\n", r"g\.v, line 4: expected a vertex id"),
    ],
)
def test_malformed_graphalytics(tmp_path, vertices, edges, sentence):
    (tmp_path / "g.properties").write_text("graph.g.directed = true\n")
    (tmp_path / "g.v").write_text(vertices)
    (tmp_path / "g.e").write_text(edges)

    def run(_):
        with pytest.raises(ev.FormatError, match=sentence):
            ev.partition(tmp_path / "g.properties", "cpu:1")

    run_ranks(2, run)
