"""Bad files and bad calls, each with its maker and its expected error."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from malformed import makers as make

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """A bad file or call.

    Parameters
    ----------
    name : str
    make : callable
        Makes the file in a folder and returns the path or spec to read.
    error : str
        The exact type of the error.
    words : tuple of str
        Parts of the message, in addition to the path.
    line : int, optional
        The line that the message names.
    options : dict
        Options of `evener.read`, or of `evener.write` if `action` is "write".
    action : {"read", "write"}
    unprivileged : bool
        Whether the call runs without the rights of root.
    file_limit : int, optional
        The largest file, in bytes, that the call may write.
    """

    name: str
    make: Callable[[Path], Path | str]
    error: str
    words: tuple[str, ...]
    line: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    action: str = "read"
    unprivileged: bool = False
    file_limit: int | None = None


FILE, FORMAT, MEMORY, ARGUMENT = "FileError", "FormatError", "OutOfMemoryError", "ArgumentError"

CASES = [
    # ---- not a file at all
    Case("missing", lambda d: d / "missing.txt", FILE, ("there is no file",)),
    Case("missing, no suffix", lambda d: d / "missing", FILE, ("there is no file",)),
    Case("spec without colon", lambda _: "rmat20", FILE, ("rmat:20",)),
    Case("spec of an unknown generator", lambda _: "rmta:20", ARGUMENT, ("rmta", "rmat")),
    Case("dangling link", make.dangling, FILE, ("link",)),
    Case("folder", make.folder("f.txt"), FILE, ("is a folder",)),
    Case("GraphML", make.file("g.graphml", "<graphml/>"), ARGUMENT, ("use NetworkX", "Graph.from_networkx")),
    Case("JSON lines", make.file("g.jsonl.gz", "{}"), ARGUMENT, ("use pandas", "from_pandas or to_pandas")),
    Case("unknown suffix", make.file("g.mxt", "1 2\n"), ARGUMENT, (".mtx", ".evg")),
    Case("no permission", make.closed, FILE, ("permission denied",), unprivileged=True),
    # ---- edge lists
    Case("empty", make.file("e.txt", ""), FORMAT, ("empty",)),
    Case("empty, compressed", make.file("e.txt.gz", gzip.compress(b"")), FORMAT, ("empty",)),
    Case("binary", make.file("b.txt", b"\0\1\2\3" + make.noise(4000)), FORMAT, ("binary",)),
    Case("a gzip file named .txt", make.file("g.txt", gzip.compress(make.EDGES)), FORMAT, ("gzip", ".gz")),
    Case("a text file named .gz", make.file("t.txt.gz", make.EDGES), FORMAT, ("damaged or truncated",)),
    Case("half a .gz", make.half("h.txt.gz"), FORMAT, ("truncated", "download it again")),
    Case("half a .zst", make.half("h.txt.zst"), FORMAT, ("truncated", "download it again")),
    Case("half a .bz2", make.half("h.txt.bz2"), FORMAT, ("truncated", "download it again")),
    Case(
        "damaged .gz", make.file("d.txt.gz", gzip.compress(make.EDGES)[:-8] + b"\1" * 8), FORMAT, ("damaged",)
    ),
    Case("negative id", make.file("n.txt", "0 1\n# x\n2 -3\n"), FORMAT, ("negative", "2 -3"), 3),
    Case("huge id", make.file("h.txt", "0 1\n1 99999999999999999999\n"), FORMAT, ("larger",), 2),
    Case("id of 2^63", make.file("h.txt", "0 9223372036854775808\n"), FORMAT, ("larger",), 1),
    Case("id beyond n", make.file("n.txt", "0 1\n\n1 7\n"), FORMAT, ("from 0 to 4",), 3, {"n": 5}),
    Case("fraction for an id", make.file("f.txt", "0 1\n1.5 2\n"), FORMAT, ("integer vertex ids", "1.5"), 2),
    Case("word for an id", make.file("w.txt", "0 1\n0 2\n1 x\n"), FORMAT, ("integer vertex ids", "1 x"), 3),
    Case("one field", make.file("o.txt", "7\n8\n"), FORMAT, ("tail and head",), 1),
    Case("ragged rows", make.file("r.txt", "0 1\n1 2\n2\n"), FORMAT, ("2 fields",), 3),
    Case("ragged rows, more", make.file("r.txt", "0 1\n1 2 3\n"), FORMAT, ("2 fields",), 2),
    Case("missing weight", make.file("m.wel", "0 1 5\n1 2\n"), FORMAT, ("weight",), 2),
    Case("NaN weight", make.file("n.wel", "0 1 5\n1 2 nan\n"), FORMAT, ("weight",), 2),
    Case("infinite weight", make.file("i.wel", "0 1 inf\n"), FORMAT, ("weight",), 1),
    Case("word for a weight", make.file("w.wel", "0 1 5\n1 2 5x\n"), FORMAT, ("weight", "5x"), 2),
    Case("no weights", make.file("w.txt", "0 1\n"), FORMAT, ("weighted=True",), 1, {"weighted": True}),
    Case(
        "far line",
        make.file("f.txt", make.EDGES * 400 + b"1 x\n"),
        FORMAT,
        ("integer vertex ids",),
        2_000_001,
    ),
    Case(
        "far line, compressed",
        make.file("f.txt.gz", gzip.compress(make.EDGES * 900 + b"1\n", 1)),
        FORMAT,
        (),
        4_500_001,
    ),
    Case(
        "cut within a line",
        make.file("c.txt", "# Nodes: 9 Edges: 4\n0 1\n1 2\n2 "),
        FORMAT,
        ("download it again",),
        4,
    ),
    Case(
        "cut, whole lines",
        make.file("c.txt", "# Nodes: 9 Edges: 400\n0 1\n1 2\n"),
        FORMAT,
        ("400", "found 2"),
        3,
    ),
    *(
        Case(f"cut, {name}", make.file("c.txt", f"# Nodes: 9 Edges: 400\n{text}"), FORMAT, ("found",), line)
        for name, text, line in (
            ("no edges", "", 1),
            ("within a comment", "# FromNodeId\tToNo", 2),
            ("names", "# Ids: strings\nann\tbob\nbob\teve\n", 4),
            ("fractions", "1.0 2.0\n", 2),
        )
    ),
    Case("a device", lambda d: make.link_to(d / "zero.txt", "/dev/zero"), FILE, ("is a device",)),
    Case("one endless line", make.file("l.txt", b"1" * (40 << 20)), FORMAT, ("longer",)),
    Case("names without a pair", make.file("s.txt", "ann bob\nbob\n"), FORMAT, ("2 fields",), 2),
    Case("names of columns", make.file("s.txt", "a b\n1 2\n"), FORMAT, ("found column names",), 1),
    Case("name for an end is missing", make.file("s.txt", "a,b\nc,\n"), FORMAT, ("2 fields", "found 1"), 2),
    Case("first end is missing", make.file("s.txt", "a,b\n,c\n"), FORMAT, ("empty field",), 2),
    Case("number for an end is missing", make.file("s.txt", "1,2\n3,\n"), FORMAT, ("2 fields",), 2),
    Case("one name in quotes", make.file("s.txt", '"New York"\n'), FORMAT, ("tail and head",), 1),
    Case(
        "CSV, no weights",
        make.file("c.csv", "1.0,2.0\n"),
        FORMAT,
        ("weighted=True",),
        None,
        {"weighted": True},
    ),
    Case("empty quotes", make.file("s.txt", '"a" "b"\n"" "c"\n'), FORMAT, ("empty field",), 2),
    Case("number and rest", make.file("s.txt", f"{'1' * 300_000}x b\n1 2\n"), FORMAT, ("column names",), 1),
    Case(
        "blanks in quoted names",
        make.file("s.tsv", f'"a"\tb\n"c"{" " * 300_000}x\n'),
        FORMAT,
        ("closing quote",),
        2,
    ),
    Case("open quote", make.file("s.txt", '"a" "b"\n"c d\n'), FORMAT, ("closing quote",), 2),
    Case(
        "tabs and blanks",
        make.file("s.txt", "ann bob\t2\nbob eve\t3\n"),
        FORMAT,
        ("tabs or blanks", "double quotes"),
        1,
    ),
    Case("ragged names with blanks", make.file("s.tsv", "a b\tc\nd\n"), FORMAT, ("separated by tabs",), 2),
    Case("first id is half a number", make.file("s.txt", "5x 6\n1 2\n"), FORMAT, ("'5x 6'", "strings"), 1),
    Case("not UTF-8", make.file("s.txt", b"ann bob\nann b\xff\xfeb\n"), FORMAT, ("utf",), 2),
    Case(
        "columns for an edge list",
        make.file("c.txt", "0 1\n"),
        FORMAT,
        ("column 'a'",),
        None,
        {"columns": ["a", "b"]},
    ),
    Case("weights beyond floats", make.file("o.wel", "0 1 5\n\n1 2 1e400\n"), FORMAT, ("1e400",), 3),
    Case(
        "weights beyond their type",
        make.file("t.txt", "# Weights: int8\n0 1 3\n1 2 300\n"),
        FORMAT,
        ("int8", "300"),
        3,
    ),
    Case("weights below their type", make.file("t.txt", "# Weights: uint8\n0 1 -3\n"), FORMAT, ("uint8",), 2),
    Case(
        "weights not of their type",
        make.file("t.txt", "# Weights: int32\n0 1 1\n\n1 2 1.5\n"),
        FORMAT,
        ("int32", "1.5", "edge 2"),
        4,
    ),
    Case(
        "weights of names beyond their type",
        make.file("t.txt", "# Weights: int8\na b 300\n"),
        FORMAT,
        ("300",),
        2,
    ),
    Case("weights rounded", make.file("t.txt", f"# Weights: int64\n0 1 {2**64}\n"), FORMAT, ("int64",), 2),
    Case("unknown type of weights", make.file("t.txt", "# Weights: uint99\n0 1 3\n"), FORMAT, ("uint99",), 1),
    Case("names with numbers", make.file("t.txt", "# Without edges: a b\n0 1\n"), FORMAT, ("'a'",)),
    Case("negative with numbers", make.file("t.txt", "# Without edges: -5\n0 1\n"), FORMAT, ("'-5'",)),
    Case("n for names", make.file("t.txt", "ann bob\n"), ARGUMENT, ("remove n",), None, {"n": 2}),
    Case("n for names in CSV", make.file("c.csv", "src,dst\na,b\n"), ARGUMENT, ("remove n",), None, {"n": 2}),
    Case("negative n", make.file("t.txt", "0 1\n"), ARGUMENT, ("found -1",), None, {"n": -1}),
    Case("n in words", make.file("t.txt", "0 1\n"), ARGUMENT, ("found '3'",), None, {"n": "3"}),
    Case("n of 0", make.file("t.txt", "0 1\n"), FORMAT, ("larger",), 1, {"n": 0}),
    Case("a number as a format", make.file("t.txt", "0 1\n"), ARGUMENT, ("found 5",), None, {"format": 5}),
    Case("weighted in words", make.file("t.txt", "0 1\n"), ARGUMENT, ("'no'",), None, {"weighted": "no"}),
    Case("bipartite", make.file("b.txt", "% bip unweighted\n1 1\n"), FORMAT, ("bipartite",), 1),
    # ---- tables
    Case("CSV without known names", make.file("c.csv", "a,b\n1,2\n"), FORMAT, ("'a', 'b'", "columns=")),
    Case(
        "CSV, no such column",
        make.file("c.csv", "a,b\n1,2\n"),
        FORMAT,
        ("'z'",),
        None,
        {"columns": ["a", "z"]},
    ),
    Case("CSV, a number", make.file("c.csv", "0,1\n"), ARGUMENT, ("expected a list",), None, {"columns": 5}),
    Case(
        "CSV, no name",
        make.file("c.csv", "0,1\n"),
        ARGUMENT,
        ("column names", "found none"),
        None,
        {"columns": ["src", None]},
    ),
    Case("CSV with carriage returns", make.file("c.csv", "src,dst\r1,2\r"), FORMAT, ("carriage",), 1),
    Case("CSV with ragged rows", make.file("c.csv", "src,dst\n1,2\n3\n"), FORMAT, ("2 fields", "found 1"), 3),
    Case("CSV, open quote", make.file("c.csv", 'src,dst\na,b\n"c,d\n'), FORMAT, ("closing quote",), 3),
    Case("CSV, blanks", make.file("c.csv", f"src,dst\n{' ' * 300_000}\rx,1\n"), FORMAT, ("carriage",), 2),
    Case("CSV, text after a quote", make.file("c.csv", 'src,dst\n"c"d,e\n'), FORMAT, ("closing quote",), 2),
    Case("CSV, ragged line breaks", make.file("c.csv", 'src,dst\n"a\nb",c\n\nd\n'), FORMAT, ("found 1",), 5),
    Case("CSV, blanks and a word", make.file("c.csv", 'src,dst\n1, "2"\n2, "x"\n'), FORMAT, ("'x'",), 3),
    Case("CSV, beyond the heading", make.file("c.csv", "src,dst\n1,2,\n2,3,4\n"), FORMAT, ("'4'",), 3),
    Case("CSV, an end is missing", make.file("c.csv", "src,dst\na,b\nc,\n"), FORMAT, ("'dst'", "missing"), 3),
    Case("CSV, equal names", make.file("c.csv", "src,dst,dst\n1,2,3\n"), FORMAT, ("'dst'", "found 2")),
    Case("CSV with a word for an id", make.file("c.csv", "src,dst\n1,2\n3,x\n"), FORMAT, ("integer", "x"), 3),
    Case("CSV with a negative id", make.file("c.csv", "src,dst\n1,2\n3,-4\n"), FORMAT, ("-4",), 3),
    Case(
        "CSV without a weight",
        make.file("c.csv", "src,dst,weight\n1,2,.5\n3,4,\n"),
        FORMAT,
        ("is missing",),
        3,
    ),
    Case("CSV with NaN", make.file("c.csv", "src,dst,weight\n1,2,.5\n3,4,nan\n"), FORMAT, ("NaN",), 3),
    *(
        Case(
            f"Parquet, {name}",
            make.table("p.parquet", {"src": ends, "dst": ends}, metadata=metadata),
            FORMAT,
            ("without edges", word),
        )
        for name, ends, metadata, word in (
            ("names with numbers", [1], '{"isolated": ["a"]}', "'a'"),
            ("negative with numbers", [1], '{"isolated": [-1]}', "-1"),
            (
                "over 63 bits with numbers",
                [1],
                '{"isolated": [9223372036854775808]}',
                "9223372036854775808",
            ),
            ("numbers with names", ["a"], '{"isolated": [1]}', "expected string ids"),
            ("half a character with names", ["a"], '{"isolated": ["\\ud800"]}', "expected string ids"),
        )
    ),
    Case("Parquet not UTF-8", make.no_utf8("p.parquet"), FORMAT, ("UTF8",)),
    Case("Arrow not UTF-8", make.no_utf8("a.arrow"), FORMAT, ("UTF8",)),
    Case("Arrow, a name not UTF-8", make.no_utf8("a.arrow", of_column=True), FORMAT, ("Arrow",)),
    Case("Parquet that is text", make.file("p.parquet", "src,dst\n1,2\n"), FORMAT, ("Parquet",)),
    Case(
        "half a Parquet",
        make.table("p.parquet", {"src": [1] * 99, "dst": [2] * 99}, cut=0.5),
        FORMAT,
        ("Parquet",),
    ),
    Case(
        "Parquet with fractions", make.table("p.parquet", {"src": [1.5], "dst": [2.0]}), FORMAT, ("double",)
    ),
    Case(
        "Parquet with nulls", make.table("p.parquet", {"src": [1, None], "dst": [2, 3]}), FORMAT, ("row 2",)
    ),
    Case(
        "Parquet with mixed ids",
        make.table("p.parquet", {"src": [1], "dst": ["x"]}),
        FORMAT,
        ("all integers",),
    ),
    *(
        Case(f"two columns of one name, {name}", make.twice(name), FORMAT, ("'dst'", "found 2", "rename"))
        for name in ("p.parquet", "a.arrow")
    ),
    Case(
        "half an Arrow file",
        make.table("a.arrow", {"src": [1] * 99, "dst": [2] * 99}, cut=0.5),
        FORMAT,
        ("Arrow",),
    ),
    Case("Arrow that is noise", make.file("a.feather", make.noise(3000)), FORMAT, ("Arrow",)),
    # ---- Matrix Market, DIMACS, METIS
    Case("Matrix Market without banner", make.file("m.mtx", "3 3 1\n1 2\n"), FORMAT, ("MatrixMarket",), 1),
    Case(
        "dense Matrix Market",
        make.file("m.mtx", "%%MatrixMarket matrix array real general\n"),
        FORMAT,
        ("sparse",),
        1,
    ),
    Case("complex Matrix Market", make.matrix("complex general\n"), FORMAT, ("complex",), 1),
    Case("Matrix Market, no sizes", make.matrix("pattern general\n%\n"), FORMAT, ("size line",), 3),
    Case("not square", make.matrix("pattern general\n2 3 1\n1 3\n"), FORMAT, ("square",), 2),
    Case("too few entries", make.matrix("pattern general\n3 3 9\n1 3\n"), FORMAT, ("9", "found 1"), 2),
    Case("entry beyond n", make.matrix("real general\n3 3 1\n1 4 1\n"), FORMAT, ("1 to 3",), 3),
    Case("entry 0", make.matrix("pattern general\n3 3 1\n0 1\n"), FORMAT, ("1 to 3",), 3),
    Case(
        "matrix beyond memory",
        make.matrix(f"pattern general\n{3 * 10**9} {3 * 10**9} 1\n1 2\n"),
        MEMORY,
        ("GiB",),
    ),
    Case(
        "integers beyond 64 bits",
        make.matrix(f"integer general\n2 2 1\n1 2 {2**64}\n"),
        FORMAT,
        ("64-bit", "entry 1"),
        3,
    ),
    Case(
        "fraction for an integer",
        make.matrix("integer general\n2 2 1\n1 2 1.5\n"),
        FORMAT,
        ("integers", "1.5"),
        3,
    ),
    *(
        Case(f"Matrix Market, {name}", make.matrix(text), FORMAT, words, line)
        for name, text, words, line in (
            ("negative unsigned", "unsigned-integer general\n2 2 1\n1 2 -1\n", ("unsigned", "entry 1"), 3),
            ("skew pattern", "pattern skew-symmetric\n2 2 1\n2 1\n", ("pattern skew",), 1),
            ("skew diagonal", "integer skew-symmetric\n2 2 1\n2 2 3\n", ("diagonal", "remove"), 3),
            (
                "skew beyond 64 bits",
                f"integer skew-symmetric\n2 2 1\n2 1 {-(2**63)}\n",
                ("negative", "write 'real'"),
                3,
            ),
        )
    ),
    *(
        Case(
            f"Matrix Market of no rows, {rest}",
            make.matrix(f"pattern general\n0 0 0\n{rest}\n"),
            FORMAT,
            ("0 vertices", rest),
            3,
        )
        for rest in ("1 1", "hello world")
    ),
    Case("METIS beyond its heading", make.file("m.graph", "2 1\n2\n1\n1\n"), FORMAT, ("found 3",), 4),
    Case("DIMACS without p", make.file("d.gr", "c hi\na 1 2 3\n"), FORMAT, ("problem line",), 2),
    Case("DIMACS count", make.file("d.gr", "p sp 3 2\na 1 2 3\n"), FORMAT, ("2 arcs", "found 1"), 1),
    Case("DIMACS stray line", make.file("d.gr", "p sp 3 2\na 1 2 3\ne 2 3 1\n"), FORMAT, ("'a'",), 3),
    Case("DIMACS without weight", make.file("d.gr", "p sp 3 1\na 1 2\n"), FORMAT, ("weight",), 2),
    Case("METIS heading", make.file("m.graph", "3 x\n"), FORMAT, ("heading",), 1),
    Case("METIS vertices", make.file("m.graph", "3 1\n2\n1\n"), FORMAT, ("3 lines", "found 2"), 1),
    Case("METIS edges", make.file("m.graph", "2 5\n2\n1\n"), FORMAT, ("5 edges", "found 2"), 1),
    Case("METIS neighbour", make.file("m.graph", "2 1\n2\n9\n"), FORMAT, ("1 to 2", "9"), 3),
    Case("METIS word", make.file("m.graph", "2 1\n2\nx\n"), FORMAT, ("'x'",), 3),
    Case("METIS not UTF-8", make.file("m.graph", b"2 1\n2\n\xff\n"), FORMAT, ("neighbours",), 3),
    Case("METIS one-sided", make.file("m.graph", "3 1\n2\n3\n\n"), FORMAT, ("both directions",)),
    Case("METIS beyond memory", make.file("m.graph", "900000000000 1\n"), MEMORY, ("GiB",)),
    # ---- Graphalytics
    Case(
        "LDBC without direction", make.ldbc("graph.g.vertex-file = g.v\n", "1\n", ""), FORMAT, ("directed",)
    ),
    Case("LDBC no property", make.ldbc("hello\n", "1\n", ""), FORMAT, ("PROPERTY",), 1),
    Case("LDBC unknown end", make.ldbc(make.PROPERTIES, "1\n2\n", "1 2\n2 9\n"), FORMAT, ("vertex 9",), 2),
    Case(
        "LDBC vertex twice", make.ldbc(make.PROPERTIES, "1\n2\n1\n", "1 2\n"), FORMAT, ("found 1", "twice"), 3
    ),
    Case("LDBC word vertex", make.ldbc(make.PROPERTIES, "1\nx\n", "1 2\n"), FORMAT, ("integer",), 2),
    Case(
        "LDBC counts",
        make.ldbc(make.PROPERTIES + "graph.g.meta.edges = 7\n", "1\n2\n", "1 2\n"),
        FORMAT,
        ("7", "found 1"),
    ),
    Case(
        "LDBC blanks in a name",
        make.ldbc("graph.a" + " " * 500_000 + "x\n", "1\n", ""),
        FORMAT,
        ("PROPERTY",),
        1,
    ),
    Case("LDBC long", make.ldbc("#" * (2 << 20), "1\n", ""), FORMAT, ("1,048,576 bytes",)),
    Case("LDBC long vertex", make.ldbc(make.PROPERTIES, "1\n" + "7" * 500_000, ""), FORMAT, ("7 ... 7",), 2),
    Case(
        "LDBC outside",
        make.ldbc(make.PROPERTIES.replace("= g.v", "= ../g.v"), "1\n", ""),
        FORMAT,
        ("without folders",),
    ),
    Case(
        "LDBC no edge file",
        make.ldbc(make.PROPERTIES.replace("= g.e", "= h.e"), "1\n", ""),
        FILE,
        ("edge-file",),
    ),
    # ---- GAP
    Case("short .sg", make.file("s.sg", b"\0\1\2"), FORMAT, ("header",)),
    Case(".sg count", make.sg(3, 9, make.q(0, 1, 2, 2) + make.i(1, 0)), FORMAT, ("9 stored edges",)),
    Case(".sg negative count", make.sg(-1, 2, make.i(1, 0)), FORMAT, ("-1 vertices",)),
    Case(".sg head", make.sg(3, 2, make.q(0, 1, 2, 2) + make.i(1, 7)), FORMAT, ("found 7",)),
    Case(".sg negative head", make.sg(3, 2, make.q(0, 1, 2, 2) + make.i(1, -7)), FORMAT, ("vert",)),
    Case(".sg offsets", make.sg(3, 2, make.q(0, 9, 1, 2) + make.i(1, 0)), FORMAT, ("offsets",)),
    Case(".sg one-sided", make.sg(3, 2, make.q(0, 1, 2, 2) + make.i(1, 2)), FORMAT, ("both directions",)),
    Case(".sg beyond memory", make.huge_sg, MEMORY, ("GiB",)),
    # ---- SciPy
    Case("npz that is noise", make.file("n.npz", make.noise(999)), FORMAT, ("npz",)),
    Case("npz with rest", make.csr([0, 1, 1], [0, 1, 0], (2, 2)), FORMAT, ("from 0 to 3", "found 0 to 1")),
    Case("npz damaged LZMA", make.npz_lzma, FORMAT, ("damaged", "download it again")),
    Case("npz of other arrays", make.npz(a=np.arange(3)), FORMAT, ("save_npz",)),
    Case("npz with a pickle", make.npz(a=np.array([{}], dtype=object)), FORMAT, ("pickle",)),
    Case("npz out of range", make.csr([0, 1, 2], [0, 1 << 30], (2, 2)), FORMAT, ("vertices below",)),
    Case("npz negative", make.csr([0, 1, 2], [0, -5], (2, 2)), FORMAT, ("0 to 1",)),
    Case("npz offsets", make.csr([0, 1 << 30, 2], [0, 1], (2, 2)), FORMAT, ()),
    Case("npz not square", make.csr([0, 1, 2], [0, 1], (2, 5)), FORMAT, ("square",)),
    Case("npz of complex", make.csr([0, 1], [0], (1, 1), np.array([1j])), FORMAT, ("complex",)),
    Case("npz bomb", make.npz_bomb, FORMAT, ("indptr", "bytes")),
    # ---- container
    Case("evg without manifest", make.folder("x.evg"), FORMAT, ("evener.json",)),
    Case("evg that is a file", make.file("x.evg", "hi"), FORMAT, ("folder",)),
    Case(
        "evg manifest no JSON",
        make.evg(touch=lambda p: (p / "evener.json").write_text("{")),
        FORMAT,
        ("JSON",),
    ),
    Case("evg of another version", make.evg(lambda m: m.update(version=99)), FORMAT, ("version", "99")),
    Case(
        "evg wrong length", make.evg(lambda m: m["arrays"]["targets"].update(length=9)), FORMAT, ("9 of <u4",)
    ),
    Case("evg wrong dtype", make.evg(lambda m: m["arrays"]["targets"].update(dtype="<u8")), FORMAT, ("<u8",)),
    Case("evg of another dtype", make.evg(targets=np.array([1, 0, 2, 1], "<i8")), FORMAT, ("<u4", "<i8")),
    Case("evg path outside", make.evg(make.escape), FORMAT, ("../../etc/passwd",)),
    Case("evg cut array", make.evg(touch=make.shorten), FORMAT, ("targets", "copy the file again")),
    Case("evg null byte", make.evg(touch=make.put_null), FORMAT, ("targets", "damaged")),
    Case("evg pickle", make.evg(touch=make.pickled), FORMAT, ("pickle",)),
    Case("evg link", make.evg(touch=make.link), FORMAT, ("regular file",)),
    Case("evg one bit", make.evg(touch=make.flip), FORMAT, ("targets.npy", "checksums")),
    Case("evg out of range", make.evg(targets=np.array([1, 0, 2, 9], "<u4")), FORMAT, ("found 9",)),
    Case("evg unsorted", make.evg(targets=np.array([1, 2, 0, 1], "<u4")), FORMAT, ("ascend",)),
    Case("evg one-sided", make.evg(targets=np.array([1, 0, 2, 2], "<u4")), FORMAT, ("both directions",)),
    Case("evg offsets", make.evg(offsets=np.array([0, 3, 1, 4], "<u8")), FORMAT, ("offsets",)),
    Case("evg offsets end", make.evg(offsets=np.array([0, 1, 3, 5], "<u8")), FORMAT, ("offsets",)),
    Case("evg NaN", make.evg(weights=np.array([1, np.nan, 1, 1])), FORMAT, ("NaN",)),
    Case("evg ids", make.evg(ids=np.array([3, 2, 5])), FORMAT, ("ascend",)),
    # ---- writing
    Case("write to no folder", lambda d: d / "no" / "out.txt", FILE, ("no folder",), action="write"),
    Case("write over a folder", make.folder("out.txt"), FILE, ("folder",), action="write"),
    Case("write over a folder of other files", make.others_folder, FILE, ("other files",), action="write"),
    Case("write to closed folder", make.closed_folder, FILE, ("denied",), action="write", unprivileged=True),
    Case("write, disk full", lambda _: "/dev/full", FILE, ("space",), None, {"format": "txt"}, "write"),
    *(
        Case(
            f"write, no room for {suffix}",
            lambda d, suffix=suffix: d / f"out{suffix}",
            FILE,
            ("too large", "nothing was left behind"),
            action="write",
            file_limit=5000,
        )
        for suffix in (
            ".txt",
            ".csv",
            ".parquet",
            ".arrow",
            ".mtx",
            ".sg",
            ".gr",
            ".npz",
            ".evg",
            ".properties",
        )
    ),
    Case("write to an unknown suffix", lambda d: d / "out.xyz", ARGUMENT, (".evg",), action="write"),
]
