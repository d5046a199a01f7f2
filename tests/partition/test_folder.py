"""A written placed graph is read back unchanged: mapped on CPUs and uploaded to GPUs."""

from __future__ import annotations

import json
import os
import shutil
from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.partition import folder_checks
from evener.spec.registry import find, names_with_kernels
from evener.testing.graphs import SHAPES, build
from evener.testing.ranks import run_ranks
from support.fake_elements import ApartElement, Held
from support.fake_gpu import FakeGpu

ARGUMENTS = {
    "pagerank": {"tol": 0, "max_iter": 3},
    "betweenness": {"sources": [1, 2]},
    "edge_betweenness": {"sources": [1, 2]},
    "bfs": {"source": 0},
    "sssp": {"source": 0},
}
ONE, TWO = ["cpu:1"], ["cpu:1", "cpu:1"]
GRAPHS = {
    "directed": lambda: build(SHAPES["rmat"](), directed=True),
    "undirected": lambda: build(SHAPES["rmat"](), directed=False),
    "weighted": lambda: ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 0], [1.5, 2.5, 0.5, 4.0]),
}


# Each algorithm runs on each graph, and on one and on two elements.
RUNS = [
    (name, kind, (ONE, TWO)[(i + j) % 2])
    for i, name in enumerate(names_with_kernels())
    for j, kind in enumerate(GRAPHS)
]


@pytest.fixture(scope="module")
def directed():
    return GRAPHS["directed"]()


@pytest.fixture(scope="module")
def undirected():
    return GRAPHS["undirected"]()


@pytest.fixture(scope="module")
def weighted():
    return GRAPHS["weighted"]()


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request):
    return request.getfixturevalue(request.param)


def place(graph, on, **options):
    several = {"policy": "high", "alpha": 0.4} if len(on) > 1 else {}
    return ev.partition(graph, on, **several, **options)


def written(tmp_path, pg, **options):
    ev.write_partitioned(pg, tmp_path / "placed", **options)
    return tmp_path / "placed"


def arrays(edges):
    """Return all arrays of an adjacency in host memory."""
    found = {name: getattr(edges, name) for name in ("offsets", "targets", "weights", "blocks")}
    return {name: None if one is None else np.array(one.view(np.ndarray)) for name, one in found.items()}


def assert_same_edges(one, other):
    assert (one is None) == (other is None)
    if one is None:
        return
    for name, array in arrays(one).items():
        np.testing.assert_array_equal(array, arrays(other)[name], err_msg=name)
    assert (one.rows, one.boundary) == (other.rows, other.boundary)


def assert_same(one, other):
    """Check that two placed graphs have equal partitions, routes and numberings."""
    for p, q in zip(one.partitions, other.partitions, strict=True):
        for name in ("vertices", "mirror_bounds", "out_degree"):
            own, found = (np.array(getattr(part, name).view(np.ndarray)) for part in (p, q))
            np.testing.assert_array_equal(own, found, err_msg=name)
            assert own.dtype == found.dtype
        assert (p.index, p.connected) == (q.index, q.connected)
        assert (p.out is p.in_) == (q.out is q.in_)
        assert_same_edges(p.out, q.out)
        assert_same_edges(p.in_, q.in_)
    for r, s in zip(one.routes, other.routes, strict=True):
        assert (r.mirror_partition, r.owner, r.begin, r.first) == (
            s.mirror_partition,
            s.owner,
            s.begin,
            s.first,
        )
        np.testing.assert_array_equal(r.index.view(np.ndarray), s.index.view(np.ndarray))
    assert [one.place_of(v) for v in range(one.graph.n)] == [other.place_of(v) for v in range(one.graph.n)]
    assert (one.policy, one.directions) == (other.policy, other.directions)


@pytest.mark.parametrize("directions", ["both", "in", "out"])
@pytest.mark.parametrize("on", [ONE, TWO, ["cpu:1"] * 5], ids=len)
def test_a_folder_contains_the_placement(tmp_path, graph, on, directions):
    pg = place(graph, on, directions=directions)
    assert_same(ev.read_partitioned(written(tmp_path, pg)), pg)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_folder_can_contain_any_graph(tmp_path, shape):
    pg = place(build(SHAPES[shape](), directed=True), TWO)
    assert_same(ev.read_partitioned(written(tmp_path, pg)), pg)


def test_a_folder_can_contain_a_graph_without_vertices(tmp_path):
    pg = place(ev.Graph.from_edges([], [], n=0), TWO)
    assert_same(ev.read_partitioned(written(tmp_path, pg)), pg)


@pytest.mark.parametrize(("name", "kind", "on"), RUNS)
def test_algorithms_run_on_a_folder(request, tmp_path, name, kind, on):
    pg = ev.read_partitioned(written(tmp_path, place(request.getfixturevalue(kind), on)))
    result = find(name).function()(pg, **ARGUMENTS.get(name, {}))
    ev.verify(result)


def test_ids_and_infinite_weights_are_read_back(tmp_path):
    graph = ev.Graph.from_edges(["b", "a"], ["c", "b"], [np.inf, 1.0])
    pg = ev.read_partitioned(written(tmp_path, place(graph, TWO)))
    assert pg.graph.ids.tolist() == ["a", "b", "c"]
    assert ev.sssp(pg, source="a")["distance"].tolist() == [0.0, 1.0, np.inf]


def test_arrays_are_mapped_and_read_only(tmp_path, weighted):
    pg = ev.read_partitioned(written(tmp_path, place(weighted, TWO)))
    for partition in pg.partitions:
        for edges in partition.directions:
            for array in (partition.vertices, edges.offsets, edges.targets, edges.weights):
                assert not array.flags.writeable
                while isinstance(array.base, np.ndarray):
                    array = array.base
                assert isinstance(array, np.memmap)


def test_the_files_have_the_sizes_of_their_arrays(tmp_path):
    """The path 0-1-2 is on two elements: the first owns vertex 1 with both edges, the second owns the ends.

    With the mirrors of neighbours, each element has 3 vertices. A NumPy header has 128 bytes.
    """
    path = written(
        tmp_path, ev.partition(ev.Graph.from_edges([0, 1], [1, 2], directed=False), TWO, policy="high")
    )
    content = {file.name: file.stat().st_size - 128 for file in path.glob("*.npy")}
    assert content == {
        "0.vertices.npy": 4 * 3, "0.out_degree.npy": 4 * 1,
        "0.out.offsets.npy": 8 * 2, "0.out.targets.npy": 4 * 2,
        "1.vertices.npy": 4 * 3, "1.out_degree.npy": 4 * 2,
        "1.out.offsets.npy": 8 * 3, "1.out.targets.npy": 4 * 2,
    }  # fmt: skip
    assert sorted(entry.name for entry in path.iterdir() if entry.suffix != ".npy") == [
        "evener.json",
        "graph.evg",
    ]


def test_a_gpu_gets_copies(tmp_path, graph):
    path = written(tmp_path, place(graph, TWO))
    elements = [CpuElement("cpu:1", 1), FakeGpu("cuda:0", 0)]
    pg = ev.read_partitioned(path, elements)
    assert_same(pg, place(graph, [CpuElement("cpu:1", 1), FakeGpu("cuda:0", 0)]))
    assert all(isinstance(edges.targets, Held) for edges in pg.partitions[1].directions)
    ev.verify(ev.wcc(pg))


def test_elements_with_separate_memories(tmp_path, directed):
    def apart():
        return [ApartElement(f"apart:{i}", i) for i in range(2)]

    path = written(tmp_path, place(directed, apart()))
    assert_same(ev.read_partitioned(path, TWO), place(directed, TWO))
    assert_same(ev.read_partitioned(path, apart()), place(directed, TWO))


def test_rows_of_a_gpu_are_sorted_for_a_cpu(tmp_path, monkeypatch, undirected):
    """Rows are ascending on a GPU with column blocks. On a CPU, rows begin with hubs."""
    monkeypatch.setattr(FakeGpu, "table_columns", 1024)
    monkeypatch.setattr(
        import_module("evener.partition.gpu_build").RowsBuild, "numbers_fit", lambda *_: False
    )

    def mixed():
        return [CpuElement("cpu:1", 1), FakeGpu("cuda:0", 0)]

    gpu, cpu = place(undirected, mixed()), place(undirected, TWO)
    (ascending,), (rotated,) = gpu.partitions[1].directions, cpu.partitions[1].directions
    assert not np.array_equal(ascending.targets.view(np.ndarray), rotated.targets)
    path = written(tmp_path, gpu)
    assert_same(ev.read_partitioned(path, TWO), cpu)
    assert_same(ev.read_partitioned(path, mixed()), gpu)
    ev.write_partitioned(cpu, path)
    assert_same(ev.read_partitioned(path, mixed()), gpu)


def test_a_container_of_the_graph_is_referenced_instead_of_copied(tmp_path, directed, undirected):
    ev.write(directed, tmp_path / "g.evg")
    pg = place(ev.read(tmp_path / "g.evg"), TWO)
    path = written(tmp_path, pg, graph=tmp_path / "g.evg")
    assert not (path / "graph.evg").exists()
    assert_same(ev.read_partitioned(path), pg)
    ev.write(undirected, tmp_path / "g.evg")
    with pytest.raises(ev.FormatError, match=r"g\.evg has changed since it was placed; partition it again"):
        ev.read_partitioned(path)
    shutil.rmtree(tmp_path / "g.evg")
    with pytest.raises(ev.FileError, match=r"its graph .*g\.evg is missing; restore it"):
        ev.read_partitioned(path)


def test_another_graph_cannot_be_referenced(tmp_path, directed, undirected):
    ev.write(undirected, tmp_path / "g.evg")
    with pytest.raises(ev.ArgumentError, match=r"graph=: .* found another graph in .*g\.evg"):
        written(tmp_path, place(directed, TWO), graph=tmp_path / "g.evg")
    path = written(tmp_path, place(undirected, TWO))
    with pytest.raises(ev.ArgumentError, match="expected a container outside the new folder"):
        ev.write_partitioned(ev.read_partitioned(path), path, graph=path / "graph.evg")


def test_a_folder_replaces_only_a_folder_of_its_kind(tmp_path, directed):
    path = written(tmp_path, place(directed, TWO))
    pg = ev.read_partitioned(path)
    ev.write_partitioned(pg, path)  # the arrays of `pg` are in the replaced folder
    assert_same(ev.read_partitioned(path), pg)
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(ev.FileError, match="the folder holds other files; give a new name"):
        ev.write_partitioned(pg, path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["placed"]


def test_a_failed_write_leaves_the_old_folder(tmp_path, monkeypatch, directed, undirected):
    path = written(tmp_path, place(directed, TWO))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    monkeypatch.setattr(import_module("evener.partition.folder"), "write_folder", lambda *_: os.close(-1))
    with pytest.raises(ev.FileError, match="nothing was left behind"):
        written(tmp_path, place(undirected, TWO))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_the_number_of_elements_must_be_the_same(tmp_path, directed):
    path = written(tmp_path, place(directed, TWO))
    with pytest.raises(
        ev.ArgumentError, match=r"expected 2 elements, one for each partition, found 1 \(cpu:1\)"
    ):
        ev.read_partitioned(path, "cpu:1")


def test_wrong_arguments_are_named(tmp_path, directed):
    with pytest.raises(ev.ArgumentError, match=r"expected a PartitionedGraph, found evener\.Graph"):
        ev.write_partitioned(directed, tmp_path / "placed")
    with pytest.raises(ev.ArgumentError, match=r"use evener\.write_partitioned"):
        ev.write(place(directed, ONE), tmp_path / "g.evg")
    with pytest.raises(ev.FileError, match="there is no file"):
        ev.read_partitioned(tmp_path / "absent")


def test_several_ranks_are_rejected(tmp_path, directed):
    path = written(tmp_path, place(directed, TWO))

    def refused(world):
        with pytest.raises(ev.ArgumentError, match="read_partitioned: expected one rank, found 2"):
            ev.read_partitioned(path)
        with pytest.raises(ev.ArgumentError, match="write_partitioned: expected one rank, found 2"):
            ev.write_partitioned(ev.partition(directed, "cpu:1"), path)
        return world.rank

    assert run_ranks(2, refused) == [0, 1]


def test_a_copy_is_checked_once(tmp_path, monkeypatch, directed):
    checked = []
    check = folder_checks.check_partitions
    module = import_module("evener.partition.folder")
    monkeypatch.setattr(module, "check_partitions", lambda *given: checked.append(1) or check(*given))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = written(tmp_path, place(directed, TWO))
    ev.read_partitioned(path)
    assert not checked
    shutil.copytree(path, tmp_path / "copy")
    ev.read_partitioned(tmp_path / "copy")
    ev.read_partitioned(tmp_path / "copy")
    assert checked == [1]


# ---- damaged folders ------------------------------------------------------------------------------


def change(name, value):
    """Replace one value in the manifest."""

    def touch(path):
        manifest = json.loads((path / "evener.json").read_text())
        manifest[name] = value
        (path / "evener.json").write_text(json.dumps(manifest))

    return touch


def replace(name, edit):
    """Edit one array, and update its checksum."""

    def touch(path):
        array = np.load(path / f"{name}.npy")
        edit(array)
        np.save(path / f"{name}.npy", array)
        manifest = json.loads((path / "evener.json").read_text())
        manifest["arrays"][name] = import_module("evener.graph.formats.array_folder").entry_of(array)
        (path / "evener.json").write_text(json.dumps(manifest))

    return touch


def escape(path):
    arrays = json.loads((path / "evener.json").read_text())["arrays"]
    arrays["../../etc/passwd"] = arrays.pop("0.vertices")
    change("arrays", arrays)(path)


def flip(path):
    file = path / "1.in.targets.npy"
    content = bytearray(file.read_bytes())
    content[-4] ^= 1
    file.write_bytes(content)


def put(index, value):
    def edit(array):
        array[index] = value

    return edit


def reverse(array):
    array[:] = array[::-1].copy()


def another_target(array):
    """Let an edge begin at another vertex, with rows in order and as many edges to mirrors."""
    array[2] = 4


DAMAGES = {
    "no manifest": (lambda p: (p / "evener.json").unlink(), "evener.json, but the file is missing"),
    "no JSON": (lambda p: (p / "evener.json").write_text("{"), "expected a manifest in JSON"),
    "another kind": (change("format", "evener graph"), "format 'evener partitions'"),
    "another version": (change("version", 99), "expected format version 1, found 99"),
    "a fact of another type": (change("weighted", 1), "'weighted' in the manifest, of type bool"),
    "no elements": (change("elements", []), "names of elements"),
    "bounds of another shape": (change("mirror_bounds", [[1]]), "3 values of type int for each"),
    "bounds that overflow": (change("mirror_bounds", [[1, 1, 1 << 70]] * 2), "3 values of type int for each"),
    "bounds that descend": (change("mirror_bounds", [[9, 9, 0], [9, 9, 9]]), "mirror_bounds of partition"),
    "bounds that are huge": (change("boundary", [[0, 0], [0, 0]]), "edges to mirrors"),
    "another direction": (change("directions", "in"), "1 values of type int for each of 2"),
    "no direction": (change("directed", False), "1 values of type int for each of 2"),
    "an array outside": (escape, "'../../etc/passwd' is unknown"),
    "another graph": (change("digest", "0" * 64), "has changed since it was placed"),
    "no graph": (lambda p: shutil.rmtree(p / "graph.evg"), "is missing; restore it"),
    "a missing array": (lambda p: (p / "0.vertices.npy").unlink(), "file 0.vertices.npy, but it is missing"),
    "a cut array": (lambda p: os.truncate(p / "0.out.targets.npy", 140), "copy the file again"),
    "one bit": (flip, "1.in.targets.npy does not match the checksums"),
    "a vertex twice": (replace("0.vertices", put(0, 1)), "each vertex of the graph in one partition"),
    "a vertex too large": (replace("0.vertices", put(0, 99)), "each vertex of the graph in one partition"),
    "a mirror too large": (replace("0.vertices", put(-1, 99)), "mirrors of partition 1 in ascending order"),
    "another degree": (replace("0.out_degree", put(0, 7)), "0.out_degree as in the graph"),
    "another row": (replace("1.out.offsets", put(1, 99)), "1.out.offsets with the degrees of the graph"),
    "other ends": (replace("1.out.offsets", put(-1, 9)), "1.out.offsets from 0 to the number of targets"),
    "a target too large": (replace("0.out.targets", put(0, 1 << 31)), "0.out.targets below"),
    "another order": (replace("1.in.targets", lambda a: a.sort()), "in order in each row"),
    "another weight": (replace("0.out.weights", put(0, -1)), "0.out.weights as in the graph"),
    "weights in another order": (replace("0.out.weights", reverse), "out.targets of the edges of the graph"),
    "another target": (replace("1.in.targets", another_target), "in.targets of the edges of the graph"),
    "another element": (change("elements", ["cpu:1", "tpu:7"]), "is not an element"),
    "an empty name": (change("elements", ["cpu:1", ""]), "evener.json: "),
    "a fact twice": (
        lambda p: (p / "evener.json").write_text('{"version": 1, ' + (p / "evener.json").read_text()[1:]),
        "found 'version' twice",
    ),
    "NaN": (replace("0.out.weights", put(0, np.nan)), "0.out.weights as in the graph"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Write a weighted graph with two hubs, placed on two elements."""
    hubs = ev.Graph.from_edges([0, 0, 0, 0, 1, 1, 5], [1, 2, 3, 4, 5, 0, 4], [1.0, 2, 3, 4, 5, 6, 7])
    path = tmp_path_factory.mktemp("whole") / "placed"
    ev.write_partitioned(ev.partition(hubs, TWO, policy="high", alpha=0.5), path)
    return path


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_rejected(whole, tmp_path, evener, damage):
    """Python raises an error, and the command line prints one sentence and returns exit status 2."""
    touch, message = DAMAGES[damage]
    path = tmp_path / "placed"
    shutil.copytree(whole, path)
    touch(path)
    with pytest.raises((ev.FormatError, ev.FileError)) as raised:
        ev.read_partitioned(path)
    assert message in str(raised.value)
    assert "placed" in str(raised.value)
    assert "\n" not in str(raised.value)
    done = evener("run", "bfs", path)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
