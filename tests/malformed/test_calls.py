"""Bad calls: each ends with one sentence and writes nothing; a command ends with status 2.

All commands run in one separate process with a memory limit, so a crash or an excessive allocation fails.
"""

from __future__ import annotations

import io
import json
import os
import stat
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networkx
import numpy as np
import pytest
from pyarrow import parquet

import evener as ev

# Writes the files before the calls, such as a path, a table of results and a folder.
SETUP = """
    from pathlib import Path
    Path("path.txt").write_text("0 1\\n1 2\\n2 3\\n")
    Path("heavy.txt").write_text("0 1 2.5\\n1 2 -1.0\\n")
    Path("names.csv").write_text("source,target\\nann,bob\\nbob,eve\\n")
    Path("table.csv").write_text("vertex,distance,parent\\n0,0,0\\n")
    Path("lopsided.graph").write_text("2 1\\n2 2\\n\\n")
    Path("broken.parquet").write_bytes(b"PAR1" + bytes(40))
    Path("folder").mkdir()
"""

# Runs every call, and prints the status, the output and the new files of each.
BATCH = (
    """
    import contextlib, io, json, os, sys, tempfile
    os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))
"""
    + SETUP
    + """
    from evener.cli import main

    def files():
        return sorted(str(path) for path in Path().rglob("*"))

    before = files()
    for words in json.load(sys.stdin):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        left = [name for name in files() if name not in before]
        print(json.dumps([status, out.getvalue(), err.getvalue(), left]))
"""
)

CALLS = {
    # words of the command line: a part of the error
    "run": "Missing command; see evener run --help",
    "rnu pagerank path.txt": "No such command 'rnu'",
    "pagerank path.txt": "found the algorithm 'pagerank'; write evener run pagerank GRAPH",
    "run pagerank": "Missing argument 'GRAPH'; see evener run pagerank --help",
    "run pagerankk path.txt": "did you mean 'pagerank'?",
    "run dijkstra path.txt": "Evener names it 'sssp'",
    "run pagerank path.txt --dampign 0.5": "No such option: --dampign",
    "run pagerank path.txt --damping much": "--damping",
    "run pagerank path.txt --damping 1.5": "damping",
    "run pagerank path.txt --damping nan": "damping",
    "run pagerank path.txt --tol -1": "tol",
    "run pagerank path.txt --max-iter -3": "--max-iter: expected an integer of at least 0",
    "run pagerank path.txt --max-iter 2.5": "--max-iter",
    "run pagerank path.txt --dtype float16": "float16",
    "run pagerank path.txt --semantics gap": "gap",
    "run pagerank path.txt --source 1": "No such option: --source",
    "run wcc path.txt --damping 0.5": "No such option: --damping",
    "run pagerank path.txt --top -1": "--top",
    "run pagerank path.txt --on gpu": "'gpu' is not an element",
    "run pagerank path.txt --on cuda:999": 'element "cuda:999"',  # absent, or no GPU is usable
    "run pagerank path.txt --on cpu:0": "cpu:0",
    "run pagerank path.txt --on cpu:9999": "cpu:9999",
    "run pagerank path.txt --on cpu,": "''",
    "run pagerank path.txt --policy hihg": "'hihg'",
    "run pagerank path.txt --alpha 1.01": "expected auto or a share of the edges from 0 to 1, found '1.01'",
    "run pagerank path.txt --alpha -0.1": "found '-0.1'",
    "run pagerank path.txt --alpha nan": "found 'nan'",
    "run pagerank path.txt --alpha half": "found 'half'",
    "run bfs path.txt --source 0x": "an integer, found '0x'",
    "run bfs path.txt --source 99": "vertex 99 is not in the graph",
    "run bfs path.txt --source -1": "vertex -1 is not in the graph",
    "run bfs path.txt --source ann": "--source: expected an id of this graph, an integer",
    "run bfs path.txt --source 99999999999999999999": "99999999999999999999",
    "run bfs names.csv --source 0": "0 is not in the graph",
    "run sssp path.txt --source 0 --delta 0": "delta",
    "run sssp path.txt --source 0 --delta -2": "delta",
    "run sssp heavy.txt --source 0": "the edge from 1 to 2 weighs -1.0",
    "run betweenness path.txt --sources 0,77": "77",
    "run betweenness path.txt --sources 0,x": "--sources: expected an id of this graph, an",
    "run betweenness path.txt -k 0": "k",
    "run betweenness path.txt -k 2 --sources 0": "k",
    "run wcc absent.txt": "absent.txt",
    "run wcc rmat": "rmat",
    "run wcc rmat20": "did you mean the spec rmat:20?",
    "run wcc rmat:": "rmat",
    "run wcc rmat:-3": "rmat",
    "run wcc rmat:x": "rmat",
    "run wcc rmat:4,edge_factor=-1": "edge_factor",
    "run wcc rmat:4,colour=red": "colour",
    "run wcc rmta:4": "rmta",
    "run wcc grid:0x": "grid",
    "run wcc rmat:60": "scale",
    "run wcc rmat:31": "memory",
    "run wcc grid:1000000x1000000": "1,000,000,000,000 vertices",
    "run wcc rmat:4 --directed": "spec",
    "run wcc path.txt --directed --format nonsense": "nonsense",
    "run wcc names.csv --columns source,absent": "absent",
    "run wcc path.txt --self-loops maybe": "--self-loops: expected 'keep' or 'drop', found 'maybe'",
    "run wcc folder": "folder is a folder; give a file",
    "run wcc path.txt -o absent/c.csv": "there is no folder absent",
    "run wcc path.txt -o c.xlsx": "found suffix '.xlsx'",
    "run wcc path.txt -o components": "found no suffix",
    "run wcc path.txt -o folder": "no suffix",
    "run wcc path.txt -o path.txt/c.csv": "cannot write path.txt/c.csv",
    "run wcc path.txt -o /proc/c.csv": "cannot write /proc/c.csv",
    f"run wcc path.txt -o {'a' * 300}.csv": "name too long",
    f"run wcc path.txt --gpu-memory {'9' * 400}GiB": "--gpu-memory: expected at most 2^63 bytes",
    "run wcc path.txt --report absent/run.html": "there is no folder absent",
    "partition rmat:4 -o placed --directions up": '--directions: expected "both", "out" or "in"',
    "generate rmat:4": "Missing option",
    "generate path.txt -o g.evg": "expected a specification",
    "generate rmat:4 -o g.xyz": ".xyz",
    "generate rmat:4 -o absent/g.evg": "there is no folder absent",
    "generate rmat:4 -o /proc/g.txt": "cannot write /proc/g.txt",
    "generate rmat:4 -o /dev/full": "no suffix",
    "generate rmat:40 -o g.evg": "bytes) are available",
    "convert path.txt": "Missing argument",
    "convert absent.txt g.evg": "absent.txt",
    "generate rmat:4,seed=-1 -o g.evg": 'evener: "rmat:4,seed=-1": expected seed=INTEGER',
    "convert names.csv g.sg": "or give --ids 'drop'",
    "convert path.txt g.evg --ids some": "--ids: expected 'keep' or 'drop', found 'some'",
    "info lopsided.graph": "give --directed",
    "plan path.txt --policy best": "'best'",
    "verify bfs path.txt --source 0 extra.csv more": "extra argument",
    "verify bfs path.txt absent.parquet --source 0": "absent.parquet",
    "verify bfs path.txt broken.parquet --source 0": "broken.parquet: expected a table of results",
    "verify bfs path.txt table.csv --source 0": "each of the 4 vertices of the graph, found 1 row",
    "verify pagerank path.txt names.csv": "expected a column 'vertex'",
    "bench wcc path.txt --repeats 0": "--repeats",
    "bench bfs grid:1x1": "nothing to time",
    "devices --all": "No such option: --all",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, apart):
    """The outcome of each call."""
    folder = tmp_path_factory.mktemp("calls")
    words = json.dumps([call.split() for call in CALLS])
    done = apart("-c", textwrap.dedent(BATCH), str(folder), stdin=words, timeout=280)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) == len(CALLS), done.err
    return dict(zip(CALLS, map(json.loads, lines), strict=True))


@pytest.mark.parametrize("call", CALLS)
def test_a_command_prints_one_sentence_and_leaves_no_file(outcomes, call):
    status, out, err, left = outcomes[call]
    assert status == 2, err
    assert out == ""
    assert err.startswith("evener: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert CALLS[call].lower() in err.lower()
    assert left == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_a_failed_write_keeps_the_device(tmp_path, suffix):
    """Arrow itself would remove a path to which it cannot write."""
    device = tmp_path / "device"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # like /dev/full
    except PermissionError:
        pytest.skip("expected root, which can make devices; found another user")
    (tmp_path / f"ranks{suffix}").symlink_to(device)
    with pytest.raises(ev.FileError, match="no space left"):
        ev.wcc(ev.read("grid:3x3"), on="cpu:1").write(tmp_path / f"ranks{suffix}")
    assert device.exists()


def test_a_table_in_a_pipe(tmp_path):
    """Parquet needs a seekable file, which a pipe is not."""
    pipe = tmp_path / "ranks.parquet"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(pipe.read_bytes)
        ev.wcc(ev.read("grid:3x3"), on="cpu:1").write(pipe)
    table = parquet.read_table(io.BytesIO(received.result()))
    assert table["component"].to_pylist() == [0] * 9


def test_a_full_disk(apart, tmp_path):
    """A link leads from the table to /dev/full, a device without space."""
    (tmp_path / "ranks.csv").symlink_to("/dev/full")
    done = apart("-m", "evener", "run", "wcc", "grid:3x3", "-o", tmp_path / "ranks.csv")
    assert done.status == 2
    # A run that first compiles kernels may also print its progress.
    (error,) = (line for line in done.err.splitlines() if not line.startswith("wcc: superstep "))
    assert "no space left" in error.lower()
    assert [path.name for path in tmp_path.iterdir()] == ["ranks.csv"]


# The path 0-1-2-3. `Graph.from_edges` would compile kernels during collection.
PATH = ev.Graph(
    np.array([0, 1, 2, 3, 3], np.uint64), np.array([1, 2, 3], np.uint32), directed=True, validate=False
)


class NumberAsPath:
    """An object whose path is a number."""

    def __fspath__(self):
        return 3


API = {
    "an unknown element": (lambda: ev.bfs(PATH, source=0, on=["cpu", "tpu"]), ev.ArgumentError, "tpu"),
    "no element": (lambda: ev.bfs(PATH, source=0, on=[]), ev.ArgumentError, "at least one element"),
    "sources in two dimensions": (
        lambda: ev.betweenness(PATH, sources=np.array([[0]])),
        ev.ArgumentError,
        "found an array of shape (1, 1)",
    ),
    "an unknown policy": (lambda: ev.partition(PATH, policy="best"), ev.ArgumentError, "best"),
    "alpha above one": (
        lambda: ev.partition(PATH, on=["cpu:1", "cpu:1"], alpha=1.5),
        ev.ArgumentError,
        "1.5",
    ),
    "alpha below zero": (lambda: ev.partition(PATH, on=["cpu:1", "cpu:1"], alpha=-1), ev.ArgumentError, "-1"),
    "alpha in words": (
        lambda: ev.partition(PATH, on=["cpu:1", "cpu:1"], alpha="all"),
        ev.ArgumentError,
        "all",
    ),
    "not a graph": (lambda: ev.partition([1, 2, 3]), ev.ArgumentError, "list"),
    "a source outside the graph": (lambda: ev.bfs(PATH, source=4), ev.UnknownVertexError, "vertex 4"),
    "a source of a wrong kind": (lambda: ev.bfs(PATH, source="0"), ev.UnknownVertexError, "integers"),
    "a source between vertices": (lambda: ev.bfs(PATH, source=0.5), ev.UnknownVertexError, "0.5"),
    "a graph of another library": (
        lambda: ev.wcc(networkx.path_graph(3)),
        ev.ArgumentError,
        "wcc: expected a graph or a partitionedgraph, found networkx.graph; use evener.graph.from_networkx",
    ),
    "None as a path": (lambda: ev.read(None), ev.ArgumentError, "found nonetype"),
    "columns in one text": (
        lambda: ev.read("a.csv", columns="src,dst"),
        ev.ArgumentError,
        "columns=: expected a list such as ['src', 'dst'], found 'src,dst'",
    ),
    "a word for normalized": (
        lambda: ev.betweenness(PATH, normalized="no"),
        ev.ArgumentError,
        "normalized=: expected true or false, found 'no'",
    ),
    "a word for directed": (lambda: ev.read("a.txt", directed="no"), ev.ArgumentError, "found 'no'"),
    "elements that are a number": (
        lambda: ev.bfs(PATH, source=0, on=5),
        ev.ArgumentError,
        'such as "cpu,cuda:0"',
    ),
    "progress that cannot be called": (
        lambda: ev.bfs(PATH, source=0, progress=3),
        ev.ArgumentError,
        "function of a progress, found int",
    ),
    "the policy auto without an algorithm": (
        lambda: ev.partition(PATH, policy="auto"),
        ev.ArgumentError,
        "(or auto, for an algorithm or a plan), found 'auto'",
    ),
    "a bucket width in words": (
        lambda: ev.sssp(PATH, source=0, delta="2"),
        ev.ArgumentError,
        "float64, found '2'",
    ),
    "infinitely many sources": (
        lambda: ev.betweenness(PATH, k=float("inf")),
        ev.ArgumentError,
        "vertices from 1 to 4, found inf",
    ),
    "a placed graph placed again": (
        lambda: ev.bfs(ev.partition(PATH), source=0, alpha=0.5),
        ev.ArgumentError,
        "already placed",
    ),
    "arrays of unequal length": (lambda: ev.Graph.from_edges([0, 1], [1]), ev.ArgumentError, "2"),
    "a negative id": (lambda: ev.Graph.from_edges([0, -1], [1, 2]), ev.ArgumentError, "-1"),
    "a weight that is no number": (
        lambda: ev.Graph.from_edges([0], [1], weights=[float("nan")]),
        ev.ArgumentError,
        "nan",
    ),
    "rows out of bounds": (
        lambda: ev.Graph(np.array([0, 1], np.uint64), np.array([7], np.uint32), directed=True),
        ev.ArgumentError,
        "7",
    ),
    "negative weights for distances": (
        lambda: ev.sssp(ev.Graph.from_edges([0], [1], weights=[-1.0]), source=0),
        ev.ArgumentError,
        "weighs -1.0",
    ),
    "a word to be written": (
        lambda: ev.write("x", "y.csv"),
        ev.ArgumentError,
        "write: expected a graph, found str; use evener.read",
    ),
    "a placed graph to be written": (
        lambda: ev.write(ev.partition(PATH), "y.csv"),
        ev.ArgumentError,
        "found evener.partitionedgraph; use evener.write_partitioned, or give its .graph",
    ),
    "a number to write to": (lambda: ev.write(PATH, 3), ev.ArgumentError, "the path of a file, found int"),
    "no name to write to": (lambda: ev.write(PATH, ""), ev.ArgumentError, "found an empty name"),
    "NUL in a name to write to": (
        lambda: ev.write(PATH, "a\0.csv"),
        ev.ArgumentError,
        "'a\\x00.csv' with a nul character",
    ),
    "bytes to write to": (lambda: ev.write(PATH, b"a.csv"), ev.ArgumentError, "path of a file, found bytes"),
    "NUL in a name to read from": (
        lambda: ev.read("a\0.csv"),
        ev.ArgumentError,
        "'a\\x00.csv' with a nul character",
    ),
    "an object with a number as its path": (
        lambda: ev.write(PATH, NumberAsPath()),
        ev.ArgumentError,
        "the path of a file, found test_calls.numberaspath",
    ),
    "a result and a number to write to": (
        lambda: ev.wcc(PATH).write(3),
        ev.ArgumentError,
        "write: expected the path of a file, found int",
    ),
    "a result and no name to write to": (
        lambda: ev.wcc(PATH).write(""),
        ev.ArgumentError,
        "found an empty name",
    ),
    "columns that are a number": (
        lambda: ev.read("a.csv", columns=[1.5, 2]),
        ev.ArgumentError,
        "column names or numbers, found 1.5",
    ),
    "a fraction of a vertex": (
        lambda: ev.read("a.txt", n=2.5),
        ev.ArgumentError,
        "integer from 0 to",
    ),
    "a format that is a number to write": (
        lambda: ev.write(PATH, "a.csv", format=5),
        ev.ArgumentError,
        "such as 'csv', found 5",
    ),
    "no name to read from": (lambda: ev.read(""), ev.ArgumentError, "found an empty name"),
    "a seed below zero": (
        lambda: ev.partition(PATH, on=["cpu:1"] * 2, seed=-1),
        ev.ArgumentError,
        "seed=: expected an integer of at least 0, found -1",
    ),
    "a seed in words, for one element": (
        lambda: ev.partition(PATH, on="cpu:1", seed="a"),
        ev.ArgumentError,
        "seed=: expected an integer of at least 0, found 'a'",
    ),
    "an unknown array of a result": (lambda: ev.wcc(PATH)["rank"], KeyError, "component"),
}


@pytest.mark.parametrize("call", API)
def test_a_call_raises_one_sentence(call):
    bad, kind, word = API[call]
    with pytest.raises(kind) as caught:
        bad()
    message = str(caught.value)
    assert word in message.lower()
    assert "\n" not in message


def test_unwritable_folders_are_refused():
    with pytest.raises(ev.FileError, match="/proc"):
        ev.write(PATH, "/proc/graph.evg")
    with pytest.raises(ev.FileError, match="/proc"):
        ev.wcc(PATH).write(Path("/proc/components.csv"))
