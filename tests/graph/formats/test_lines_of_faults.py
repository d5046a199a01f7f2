"""A refusal names the line of the fault, in every text format and at every place of a file."""

from __future__ import annotations

import bz2

import numpy as np
import pytest

import evener as ev
from evener.graph.formats import read_share, text_stream
from evener.graph.formats.file import Source
from evener.graph.formats.text_stream import line_of_row
from evener.testing.ranks import run_ranks

ROWS = 30


def rows(separator, *, names=False, weight="{}"):
    """Return the lines of a path graph with weights."""
    name = "v{}".format if names else str
    return [separator.join((name(i), name(i + 1), weight.format(i + 1))) for i in range(1, ROWS + 1)]


# Lines of a valid file: lines before the edges, edges, and what replaces an edge to make it wrong.
FILES = {
    "comma.csv": (["src,dst,weight"], rows(","), "3,4,n/a"),
    "semicolon.csv": (["src;dst;weight"], rows(";"), "3;4;n/a"),
    "tab.csv": (["src\tdst\tweight"], rows("\t"), "3\t4\tn/a"),
    "pipe.csv": (["src|dst|weight"], rows("|"), "3|4|n/a"),
    "blank.csv": (["src dst weight"], rows(" "), "3 4 n/a"),
    "decimal.csv": (["src;dst;weight"], rows(";", weight="{},5"), "3;4;n/a"),
    "decimal_names.csv": (["src;dst;weight"], rows(";", names=True, weight="{},5"), "a;b;n/a"),
    "decimal_late.csv": (["src;dst;weight"], [*rows(";")[:2], "3;4;0,5", *rows(";")[3:]], "3;4;n/a"),
    "thousands.csv": (["src,dst,weight"], rows(","), '3,4,"1,234.5"'),
    "quoted.csv": (["src,dst,weight"], rows(",", names=True, weight='"{}"'), 'a,b,"n/a"'),
    "breaks.csv": (["src,dst,weight,note"], [f'{row},"a\nb"' for row in rows(",")], '3,4,n/a,"a\nb"'),
    "blanks_before_quotes.csv": (["src, dst, weight"], rows(', ', names=True, weight='"{}"'), 'a, b, "n/a"'),
    "empty_weight.csv": (["src,dst,weight"], rows(","), "3,4,"),
    "missing_weight.csv": (["src,dst,weight"], rows(","), "3,4"),
    "empty_id.csv": (["src,dst,weight"], rows(",", names=True), "a,,7"),
    "ragged.csv": (["src,dst,weight"], rows(","), "3,4,5,6"),
    "no_number.csv": (["src,dst,weight"], rows(","), "3,x,5"),
    "negative.csv": (["src,dst,weight"], rows(","), "3,-4,5"),
    "no_heading.csv": ([], rows(","), "3,x,5"),
    "no_heading_semicolon.csv": ([], rows(";"), "3;4;x"),
    "comments.csv": (["# of 2026", "% x", "sep=;", "", "src;dst;weight"], rows(";"), "3;4;x"),
    "latin1.csv": (["src,dst,weight"], rows(",", names=True), "caf\udce9,b,1"),
    "edges.txt": (["# Directed graph", ""], rows(" "), "3 4 x"),
    "commas.txt": ([], rows(","), "3,4,"),
    "tabs.tsv": ([], rows("\t"), "3\t\t4"),
    "heading.tsv": (["src\tdst\tweight"], rows("\t"), "3\t4\tx"),
    "names.tsv": (["#"], rows("\t", names=True), "a\tb\t"),
    "names.txt": (["%"], rows(" ", names=True), "a b x"),
    "names_few.txt": (["%"], rows(" ", names=True), "a"),
    "latin1.txt": ([], rows(" ", names=True), "caf\udce9 b 1"),
    "typed.txt": (["# Weights: int32"], rows(" "), "3 4 1.5"),
    "typed_names.txt": (["# Ids: strings", "# Weights: int32"], rows(" "), "3 4 1.5"),
    "matrix.mtx": (
        ["%%MatrixMarket matrix coordinate integer general", "% c", f"{ROWS + 1} {ROWS + 1} {ROWS}"],
        rows(" "),
        "3 4 1.5",
    ),
    "range.mtx": (
        ["%%MatrixMarket matrix coordinate real general", f"{ROWS + 1} {ROWS + 1} {ROWS}"],
        rows(" "),
        f"3 {ROWS + 2} 1",
    ),
    "skew.mtx": (
        ["%%MatrixMarket matrix coordinate real skew-symmetric", f"{ROWS + 1} {ROWS + 1} {ROWS}"],
        rows(" "),
        "3 3 1",
    ),
    "arcs.gr": (["c x", f"p sp {ROWS + 1} {ROWS}"], [f"a {row}" for row in rows(" ")], "a 3 4 x"),
    "path.graph": (
        ["% c", f"{ROWS} {ROWS - 1}"],
        ["2", *(f"{i - 1} {i + 1}" for i in range(2, ROWS)), f"{ROWS - 1}"],
        "2 x",
    ),
}  # fmt: skip
# Lines between the edges. CSV has no comments between rows.
BETWEEN = {"none": [], "empty": ["", ""], "comments": ["# c", "% c", ""]}


def lines_of(name, place, between, fault):
    """Return the lines of a file, and the number of the line of the fault."""
    before, edges, wrong = FILES[name]
    at = {"first": 0, "middle": ROWS // 2, "last": ROWS - 1}[place]
    edges = [*edges[:at], wrong if fault else edges[at], *edges[at + 1 :]]
    comment = {".mtx": "%", ".gr": "c", ".graph": "%"}.get(name[name.index(".") :], "#")
    texts = [text.replace("#", comment).replace("%", comment) for text in BETWEEN[between]]
    lines, line = list(before), 0
    for number, edge in enumerate(edges):
        if number in (0, 5, ROWS // 2, ROWS - 2):
            lines += texts
        if number == at:
            line = sum(text.count("\n") + 1 for text in lines) + 1
        lines.append(edge)
    return lines, line


def permits(name, between):
    """Return whether the lines between edges are a part of a valid file."""
    if name.endswith(".csv") or name == "heading.tsv":
        return between != "comments" or name == "no_heading.csv"
    if name.endswith(".graph"):  # an empty line is a vertex
        return between == "none"
    return True


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(
    ("name", "between"), [(name, between) for name in FILES for between in BETWEEN if permits(name, between)]
)
def test_the_line_of_a_fault(name, between, end, tmp_path):
    path = tmp_path / name
    for place in ("middle", "last"):
        lines, line = lines_of(name, place, between, fault=True)
        path.write_bytes((end.join(lines) + end).encode("utf-8", "surrogateescape"))
        with pytest.raises(ev.FormatError) as refused:
            ev.read(path)
        assert refused.value.line == line, str(refused.value)
    lines, _ = lines_of(name, "last", between, fault=False)
    path.write_bytes((end.join(lines) + end).encode())
    assert ev.read(path).m >= ROWS


@pytest.mark.parametrize(
    "name", ["edges.txt", "names.txt", "names.tsv", "typed.txt", "matrix.mtx", "arcs.gr"]
)
def test_the_line_of_a_fault_in_each_chunk(name, tmp_path, monkeypatch):
    """Small chunks, and parts of chunks for threads, do not change the number."""
    monkeypatch.setattr(text_stream, "CHUNK_BYTES", 64)
    monkeypatch.setattr(text_stream, "MAX_LINE_BYTES", 64)
    monkeypatch.setattr(text_stream, "PART_BYTES", 16)
    path = tmp_path / name
    for place in ("middle", "last"):
        lines, line = lines_of(name, place, "comments", fault=True)
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(ev.FormatError) as refused:
            ev.read(path)
        assert refused.value.line == line, str(refused.value)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("edges.txt", ""),
        ("edges.txt", ".bz2"),
        ("typed.txt", ""),
        ("typed.txt", ".bz2"),
        ("names.txt", ""),
        ("names.tsv", ""),
        ("typed_names.txt", ""),
    ],
)
def test_the_line_of_a_fault_for_several_ranks(name, suffix, tmp_path):
    path = tmp_path / f"{name}{suffix}"
    for place in ("middle", "last"):
        lines, line = lines_of(name, place, "comments", fault=True)
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(bz2.compress(content) if suffix else content)
        with pytest.raises(ev.FormatError) as refused:
            run_ranks(3, lambda world: read_share(path, world))
        assert refused.value.line == line, str(refused.value)


@pytest.mark.parametrize("name", ["g.csv", "h.csv", "g.txt", "g.tsv"])
def test_the_line_of_an_id_beyond_n(name, tmp_path):
    path = tmp_path / name
    heading = ["src;dst"] if name == "h.csv" else []
    separator = {"h.csv": ";", "g.tsv": "\t"}.get(name, ",")
    path.write_text("\n".join([*heading, "", f"0{separator}1", "", f"1{separator}9", f"8{separator}2", ""]))
    with pytest.raises(ev.FormatError, match=r"found 9|larger id: '1.+9'") as refused:
        ev.read(path, n=4)
    assert refused.value.line == 4 + len(heading)


def test_the_line_of_a_nul_in_a_name(tmp_path):
    path = tmp_path / "g.txt"
    path.write_bytes(b"a b\n" * 20_000 + b"# c\n\na b\0\n")
    with pytest.raises(ev.FormatError, match="NUL") as refused:
        ev.read(path)
    assert refused.value.line == 20_003


@pytest.mark.parametrize(
    ("vertices", "edges", "file", "line"),
    [
        ("1\n\n2\nx\n", "1 2\n", "g.v", 4),
        ("1\n\n2\n-3\n", "1 2\n", "g.v", 4),
        ("1\n\n2\n1\n", "1 2\n", "g.v", 4),
        ("1\n2 5\n", "1 2\n", "g.v", 2),
        ("1\n2\n", "1 2\n\n\n2 3\n", "g.e", 4),
        ("1\n2\n", "\n1 2\n2 x\n", "g.e", 3),
        ("1\n2\n", "\n1 2 5\n2 1\n", "g.e", 3),
    ],
)
def test_the_line_of_a_fault_in_graphalytics(vertices, edges, file, line, tmp_path):
    (tmp_path / "g.properties").write_text("graph.g.directed = true\n")
    (tmp_path / "g.v").write_text(vertices)
    (tmp_path / "g.e").write_text(edges)
    with pytest.raises(ev.FormatError) as refused:
        ev.read(tmp_path / "g.properties")
    assert refused.value.line == line
    assert refused.value.path.endswith(file)


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("src;dst;w\na;b;1,5\na;b;2.5\n", 2, "1,5"),  # both notations: one of them is wrong
        ("src;dst;w\na;b;2.5\na;b;1,5\n", 3, "1,5"),
        ("src;dst;w\na;b;1.5\na;b;x\n", 3, "x"),
        ("src;dst;w\na;b;1,5\na;b;1.234,5\n", 3, "1.234,5"),
    ],
)
def test_decimal_commas_do_not_hide_the_fault(content, line, found, tmp_path):
    (tmp_path / "g.csv").write_text(content)
    with pytest.raises(ev.FormatError, match=f"found '{found}'") as refused:
        ev.read(tmp_path / "g.csv")
    assert refused.value.line == line


def test_a_metis_line_without_its_reverse_names_both_vertices(tmp_path):
    (tmp_path / "g.graph").write_text("3 2 1\n2 5\n1 5 3 7\n2 8\n")
    with pytest.raises(ev.FormatError, match="vertex 2 among the neighbours of 3 with the same"):
        ev.read(tmp_path / "g.graph")
    (tmp_path / "g.graph").write_text("2 1\n2\n1\n\n% c\n1\n")
    with pytest.raises(ev.FormatError, match="found 3") as refused:
        ev.read(tmp_path / "g.graph")
    assert refused.value.line == 6


def test_line_of_row_counts_as_python_does(tmp_path):
    generator = np.random.default_rng(1)
    lines = [["", "# c", "  % c", "1 2", " \t"][kind] for kind in generator.integers(0, 5, 500)]
    (tmp_path / "g.txt").write_text("x\n" + "\n".join(lines) + "\n")
    expected = [number for number, line in enumerate(lines, start=2) if line == "1 2"]
    source = Source(tmp_path / "g.txt")
    for row in (0, 7, len(expected) - 1):
        assert line_of_row(source, row, comments=b"#%", after=1) == expected[row]
