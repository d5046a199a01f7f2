"""Messages hold no control characters, whatever names of files, columns, vertices and options hold."""

from __future__ import annotations

import ast
import io
import logging
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import evener as ev
from evener import errors
from evener.cli.progress import Display
from evener.engine.timeline import Progress
from evener.errors import printable
from evener.graph.formats.registry import all_formats
from evener.system.html import escape
from evener.system.log import log

# A colour, a bell, a newline, C1, separators of lines, orders of writing, no width, a byte-order mark.
EVIL = "\x1b[31mX\x07\n\x9b\x7f\u2028\u2029\u202e\u2066\u200b\ufeff"
SOURCE = Path(ev.__file__).parent


def is_clean(text):
    """Return whether a text has no characters that control a terminal."""
    return all(line.isprintable() for line in text.split("\n"))


def error_classes():
    found, left = [], [errors.EvenerError]
    while left:
        found.append(left.pop())
        left += found[-1].__subclasses__()
    return [one for one in found if one.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_no_error_holds_a_control_character(kind):
    memory = {"needed": 2, "available": 1} if issubclass(kind, ev.OutOfMemoryError) else {}
    where = {"path": EVIL, "line": 3} if kind is ev.FormatError else {}
    error = kind(f"expected é 漢字 😀, found {EVIL} and \ud800", **memory, **where)
    assert is_clean(str(error))
    assert "expected é 漢字 😀, found \\x1b[31mX\\x07" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    if kind not in (ev.DeviceError, ev.MpiError):  # these have lines of a compiler or of several ranks
        assert "\n" not in str(error)


@pytest.mark.parametrize("kind", [ev.ArgumentError, ev.FileError, ev.FormatError, ev.UnknownVertexError])
def test_a_long_name_is_cut(kind):
    assert len(str(kind("x" * 100_000))) <= 600
    assert len(str(ev.FormatError("x" * 100_000, path="y" * 100_000))) <= 1000


def test_printable_keeps_what_is_visible():
    text = "é 漢字 😀 العربية a\u0301"
    assert printable(text) is text
    assert printable(printable(EVIL)) == printable(EVIL)
    assert printable("a\nb\tc", kept="\n") == "a\nb\\tc"
    assert escape("<\x1b>") == "&lt;\\x1b&gt;"


def test_log_records_are_clean(caplog):
    log.warning("%s: %s", EVIL, "y" * 100_000)
    assert is_clean(caplog.messages[0])
    assert len(caplog.messages[0]) <= 600


def test_only_the_border_prints_and_only_one_module_logs():
    """A print or a logger elsewhere would skip the escapes."""
    borders = {"cli/__init__.py", "cli/output.py", "cli/progress.py", "system/failure.py", "system/launch.py",
               "system/mpi.py"}  # fmt: skip
    printing, logging_ = set(), set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
                continue
            name, where = ast.unparse(node.func), str(path.relative_to(SOURCE))
            if name in ("print", "sys.stdout.write", "sys.stderr.write"):
                printing.add(where)
            if name in ("logging.getLogger", "getLogger"):
                logging_.add(where)
    assert printing <= borders
    assert logging_ == {"system/log.py"}


# Faults with the name in a place of the content of each text format, and in the name of the file.
CONTENTS = {
    "ragged.csv": "src,dst\n1,2\n{0},3,4\n",
    "heading.csv": "{0},{0}x\n1,2\n",
    "id.csv": "src,dst\n1,2\n3,{0}\n",
    "weight.csv": "src,dst,weight\n1,2,3\n3,4,{0}\n",
    "quote.csv": 'src,dst\n1,2\n"{0},3\n',
    "column.csv": "src,dst,{0}\n1,2,3\n",
    "type.csv": "src,dst,Type\n1,2,{0}Undirected\n",
    "id.txt": "1 2\n{0} 3\n",
    "weight.txt": "1 2 5\n1 2 {0}\n",
    "name.txt": "a b 5\na b {0}\n",
    "comment.txt": "# Weights: int99 {0}\n# Nodes: 3 Edges: 9 {0}\n1 2\n",
    "third.txt": "1 2 {0}\n",
    "field.mtx": "%%MatrixMarket matrix coordinate {0} general\n1 1 0\n",
    "symmetry.mtx": "%%MatrixMarket matrix coordinate real {0}\n1 1 0\n",
    "layout.mtx": "%%MatrixMarket matrix {0} real general\n1 1 0\n",
    "size.mtx": "%%MatrixMarket matrix coordinate real general\n{0}\n",
    "entry.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 {0}\n",
    "heading.graph": "{0}\n1\n",
    "row.graph": "2 1\n2\n{0}\n",
    "heading.gr": "p sp {0}\n",
    "arc.gr": "p sp 2 1\na 1 {0} 3\n",
    "p.properties": "graph.p.directed = {0}\n",
    "v.properties": "graph.v.directed = true\ngraph.v.vertex-file = {0}\n",
    "n.properties": "graph.n.directed = true\ngraph.n.edge-properties.names = a,b\n"
    "graph.n.edge-properties.types = {0}\n",
    "w.properties": "graph.w.directed = true\ngraph.w.sssp.weight-property = {0}\n",
    "line.properties": "{0}\n",
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("evil", ["\x1b[31mX\x07", "\u202eX\u2028", "\x9bX\ufeff\u200b"])
def test_content_of_files_stays_out_of_messages(name, evil, tmp_path, caplog):
    path = tmp_path / name
    path.write_text(CONTENTS[name].format(evil), encoding="utf-8")
    said = []
    try:
        ev.read(path)
    except ev.EvenerError as error:  # a traceback shows the cause, too
        said = [str(one) for one in (error, error.__cause__) if one is not None]
    said += caplog.messages
    assert said or name in ("column.csv", "type.csv")
    assert all(map(is_clean, said))


@pytest.mark.parametrize("kind", all_formats(), ids=lambda kind: kind.name)
def test_names_of_files_stay_out_of_messages(kind, tmp_path, caplog):
    path = tmp_path / f"{EVIL}{kind.suffixes[0]}"
    with pytest.raises(ev.EvenerError) as missing:
        ev.read(path)
    path.write_bytes(b"\x00 damaged")
    with pytest.raises(ev.EvenerError) as damaged:
        ev.read(path)
    with pytest.raises(ev.EvenerError) as unknown:
        ev.read(path.with_suffix(f".{EVIL}"))
    for error in (missing, damaged, unknown):
        assert is_clean(str(error.value))
        assert "\\x1b[31mX" in str(error.value)
    assert all(map(is_clean, caplog.messages))


def test_names_in_memory_stay_out_of_messages(caplog):
    frame = pd.DataFrame({"src": ["a"], "dst": ["b"], EVIL: [1.0]})
    graph = nx.Graph()
    graph.add_edge("a", "b", **{EVIL: 3})
    ev.Graph.from_pandas(frame)
    ev.Graph.from_networkx(graph)
    assert len(caplog.messages) == 2
    assert all(map(is_clean, caplog.messages))
    named = ev.Graph.from_edges([EVIL], ["b"])
    calls = [
        lambda: named.numbers_of(["zz"]),
        lambda: named.numbers_of([EVIL + "?"]),
        lambda: ev.Graph.from_pandas(frame, weight=EVIL + "?"),
        lambda: ev.Graph.from_networkx(graph, weight=EVIL + "?"),
        lambda: ev.read("rmat:" + EVIL),
        lambda: ev.read("s.txt", format=EVIL),
        lambda: ev.bfs(named, EVIL + "?"),
        lambda: ev.bfs(named, "b", on=EVIL),
        lambda: ev.write(named, f"{EVIL}.mtx"),
    ]
    for call in calls:
        with pytest.raises(ev.EvenerError) as refused:
            call()
        assert is_clean(str(refused.value))
        assert "\n" not in str(refused.value)


# Words of commands; "G" is a graph with integers, "N" with the name as a vertex.
COMMANDS = [
    ["{0}"],
    ["--{0}"],
    ["run", "{0}", "G"],
    ["run", "bfs", "G", "--{0}", "1"],
    ["run", "bfs", "G", "--source", "{0}"],
    ["run", "bfs", "N", "--source", "zz"],
    ["run", "bfs", "G", "--on", "{0}"],
    ["run", "bfs", "G", "--policy", "{0}"],
    ["run", "bfs", "G", "--top", "{0}"],
    ["run", "bfs", "G", "--report", "{0}"],
    ["run", "bfs", "G", "-o", "{0}"],
    ["run", "bfs", "G", "-o", "{0}/x.csv"],
    ["run", "bfs", "G", "--checkpoint", "{0}", "--every", "{0}"],
    ["verify", "bfs", "G", "{0}.csv"],
    ["info", "{0}.txt"],
    ["info", "G", "--format", "{0}"],
    ["info", "G", "--columns", "{0},b"],
    ["plan", "G", "--for", "{0}"],
    ["generate", "{0}:3", "-o", "x.txt"],
    ["generate", "rmat:3,{0}", "-o", "x.txt"],
    ["convert", "G", "{0}"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_refuse_a_name_without_its_control_characters(words, evener, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("G").with_suffix(".txt").write_text("1 2\n")
    Path("N").with_suffix(".txt").write_text("\x1b[31mX\x07 b\n")
    given = [f"{word}.txt" if word in "GN" else word.format(EVIL) for word in words]
    done = evener(*given)
    assert done.status == 2
    assert is_clean(done.out + done.err)
    assert len(done.err.strip().splitlines()) == 1


def test_commands_print_names_without_their_control_characters(evener, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("G.txt").write_text("1 2\n")
    evil = "\x1b[31mX\x07\u202e"
    Path(f"{evil}.csv").write_text(f'src,dst,{evil}\n"{evil}",b,1\n')
    outputs = [
        evener("run", "bfs", f"{evil}.csv", "-o", f"{evil}out.csv", "--on", "cpu"),
        evener("run", "wcc", f"{evil}.csv", "--on", "cpu", "--undirected"),
        evener("verify", "bfs", f"{evil}.csv"),
        evener("convert", "G.txt", f"{evil}2.csv"),
        evener("partition", "G.txt", "-o", f"{evil}folder"),
        evener("plan", f"{evil}.csv"),
        evener("info", f"{evil}.csv", "--json"),
    ]
    for done in outputs:
        assert done.status == 0
        assert is_clean(done.out + done.err)
    assert "Wrote \\x1b[31mX\\x07\\u202eout.csv" in outputs[0].out
    assert evil in Path(f"{evil}out.csv").read_text()  # results keep the names


def test_progress_shows_names_without_their_control_characters(monkeypatch):
    progress = Progress(EVIL, 1, EVIL, 1, 1.0, edges_per_second=1.0, fraction=0.5)
    stream = io.StringIO()
    Display(stream, every=0).superstep(progress)
    assert is_clean(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    live = Display(terminal)
    live.stage(f"reading [red]{EVIL}")
    with live:
        pass
    assert "\u202e" not in terminal.getvalue()
    assert np.char.find(terminal.getvalue(), "[31mX\x07") < 0


def test_other_handlers_of_the_log_see_clean_records():
    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    log.addHandler(handler)
    try:
        log.warning("%r %s", 1, "\x1b[2J")
    finally:
        log.removeHandler(handler)
    assert seen == ["1 \\x1b[2J"]
