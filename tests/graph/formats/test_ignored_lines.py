"""Comments and empty lines of any number, and other content without edges, are read or refused soon."""

from __future__ import annotations

import bz2
import gzip
import re

import pytest

import evener as ev
from evener.graph.formats import csv_records, file, text_stream
from evener.graph.formats.file import Source
from evener.graph.formats.text_stream import open_text

# Lines before and after the edges of each text format, with a comment of the format.
FORMATS = {
    "g.txt": ("#", "", "1 2\n2 3\n"),
    "names.txt": ("%", "", "a b\nb c\n"),
    "g.tsv": ("#", "", "1\t2\n2\t3\n"),
    "bare.csv": ("#", "", "1,2\n2,3\n"),
    "g.csv": ("# c", "", "src;dst\na;b\nb;c\n"),
    "g.mtx": ("%", "%%MatrixMarket matrix coordinate pattern general\n", "3 3 2\n1 2\n2 3\n"),
    "g.gr": ("c", "", "p sp 3 2\na 1 2 1\na 2 3 1\n"),
    "g.graph": ("%", "", "3 2\n2\n1 3\n2\n"),
}
MANY = 3 * text_stream.FIRST_LINES


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_many_comments_and_empty_lines(name, end, tmp_path, monkeypatch):
    """They are skipped by a kernel or by one regular expression, not one by one."""
    mark, begin, edges = FORMATS[name]
    lines = [f"{mark} comment", "", " \t", mark] * (MANY // 4)
    text = begin + "\n".join(lines) + "\n" + edges
    if name != "g.graph":
        text += "\n" * MANY
    (tmp_path / name).write_bytes(text.replace("\n", end).encode())
    skipped = []
    monkeypatch.setattr(text_stream.Text, "skip", counted(text_stream.Text.skip, skipped))
    monkeypatch.setattr(csv_records, "_has_column_names", counted(csv_records._has_column_names, skipped))
    assert ev.read(tmp_path / name).n == 3
    assert len(skipped) < 2.5 * text_stream.FIRST_LINES


def counted(function, calls):
    def call(*arguments):
        calls.append(function)
        return function(*arguments)

    return call


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "bare.csv"])
@pytest.mark.parametrize("pack", [bz2, gzip], ids=["bz2", "gz"])
def test_content_that_expands_without_end_is_refused(name, pack, tmp_path, monkeypatch):
    monkeypatch.setattr(file, "_FREE_BYTES", 1 << 20)
    mark, begin, edges = FORMATS[name]
    fill = f"{mark}\n" if name != "g.csv" else "\n"
    for text in (begin + fill * (1 << 20) + edges, begin + edges + "\n" * (1 << 21)):
        path = tmp_path / f"{name}.{pack.__name__.replace('gzip', 'gz')}"
        path.write_bytes(pack.compress(text.encode()))
        with pytest.raises(ev.FormatError, match=r"data that expands more than 500-fold, to \d+ MiB so far"):
            ev.read(path)


def test_a_small_file_may_expand_much(tmp_path):
    (tmp_path / "g.txt.bz2").write_bytes(bz2.compress(b"# a comment\n" * 1_000_000 + b"1 2\n"))
    assert ev.read(tmp_path / "g.txt.bz2").m == 1


def test_ignored_yields_the_first_comments_and_those_of_interest(tmp_path):
    lines = [f"# {number}" for number in range(text_stream.FIRST_LINES)]
    lines += ["", "# other", "# Without edges: 7", "#", "# Weights: int8", "1 2", "# after"]
    (tmp_path / "g.txt").write_text("\n".join(lines) + "\n")
    with open_text(Source(tmp_path / "g.txt")) as text:
        found = [line.decode() for line in text.ignored(b"#", kept=b"# W")]
        assert found == [*lines[: text_stream.FIRST_LINES], "# Without edges: 7", "# Weights: int8"]
        assert text.peek() == b"1 2"
        assert (text.line, text.offset) == (len(lines) - 2, len("\n".join(lines[:-2])) + 1)


def test_skip_lines_crosses_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_stream, "CHUNK_BYTES", 64)
    monkeypatch.setattr(text_stream, "MAX_LINE_BYTES", 64)
    lines = [f"{number} {number}" for number in range(200)]
    (tmp_path / "g.txt").write_text("\n".join(lines) + "\n")
    for count in (0, 1, 7, 64, 199):
        with open_text(Source(tmp_path / "g.txt")) as text:
            text.skip_lines(count)
            assert text.line == count
            assert text.peek() == lines[count].encode()


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("g.txt", b"\0" * 1000, "binary data"),
        ("g.csv", b"src,dst\n" + b"\0" * 1000, "binary data"),
        ("g.csv", b",\n" * 100_000, "expected columns named"),
        ("g.csv", b",;|" * 20_000, "expected columns named"),
        ("g.txt", b"," * 100_000, "expected tail and head"),
        ("g.csv", b'src,dst\n"' + b"x\n" * 200_000, "closing quote"),
        ("g.csv", b'src,dst\n"a' + b'""' * 200_000 + b",b\n", "closing quote"),
        ("g.txt", b'a b\n"' + b'""' * 100_000 + b"\n", "closing quote"),
        ("g.txt", b"1 2\n1 2" + b" 3" * 100_000 + b"\n", "expected 2 fields"),
        ("g.csv", b"src,dst\n" + b"a," * 50_000 + b"\n", "expected 2 fields"),
    ],
)
def test_other_content_without_edges_is_refused(name, content, match, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ev.FormatError, match=match) as refused:
        ev.read(tmp_path / name)
    assert len(str(refused.value)) < 1000


def test_a_row_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_records, "_MAX_RECORD_BYTES", 1 << 18)
    (tmp_path / "g.csv").write_bytes(b"x" * (1 << 21))
    with pytest.raises(ev.FormatError, match="look for a quote that is not closed"):
        ev.read(tmp_path / "g.csv")


def test_many_columns(tmp_path):
    names = ",".join(f"c{number}" for number in range(5_000))
    (tmp_path / "g.csv").write_text(f"src,dst,{names}\n" + f"1,2{',3' * 5_000}\n" * 3)
    assert ev.read(tmp_path / "g.csv", weighted=False).m == 3


# Headings of other programs: a valid file, and the edges (with weights) or the refusal.
MATRIX = "%%MatrixMarket matrix coordinate "
SPACED = f"\ufeff{MATRIX}real general\r\n% c\r\n\r\n2\t2  1 \r\n% c\r\n\r\n 1\t2  2.5E+01 \r\n\r\n"
SNAP = "# Undirected graph: a.txt\n# Nodes: 2 Edges: 1\n# FromNodeId\tToNodeId\n1\t2\n"
BANNER = "%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
HEADINGS = [
    ("g.mtx", "%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", [(0, 1), (1, 0)]),
    ("g.mtx", "%% MATRIXMARKET\tMatrix  Coordinate Pattern General \n2 2 1\n1 2\n", [(0, 1)]),
    ("g.mtx", SPACED, [(0, 1, 25)]),
    ("g.mtx", f"{MATRIX}pattern general\n2 2 1\n0 1\n", "line 3: .*from 1 to 2"),
    ("g.mtx", f"{MATRIX}pattern general\n2 2 1\n1 2 5\n", "line 3: .*because the banner says 'pattern'"),
    ("g.mtx", f"{MATRIX}real general\n2 2 1\n1 2\n", "line 3: expected a weight"),
    ("g.mtx", f"{MATRIX}real general\n2 2 1\n1 2 1.0D+00\n", "line 3: expected a weight"),
    ("g.mtx", f"{MATRIX}complex hermitian\n2 2 1\n1 2 1 1\n", "line 1: .*found 'complex hermitian'"),
    ("g.mtx", f"{MATRIX}pattern\n2 2 1\n1 2\n", "line 1: expected five words"),
    ("g.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", "line 1: expected a sparse matrix"),
    ("g.mtx", "2 2 1\n1 2\n", "line 1: expected '%%MatrixMarket"),
    ("g.mtx", f"{MATRIX}pattern general\n2 2\n1 2\n", "line 2: expected the size line"),
    ("g.edges", BANNER, "line 1: .*a Matrix Market file"),
    ("g.edges", "% sym unweighted\n% 1 2 2\n1 2\n", [(1, 2), (2, 1)]),
    ("g.edges", "% bip unweighted\n1 2\n", "line 1: found a bipartite graph"),
    ("g.txt", "# Nodes: 1,234 Edges: 5,678\n1 2\n", "line 2: expected 5678 edges"),
    ("g.txt", SNAP, [(1, 2), (2, 1)]),
    ("g.graph", " % c\n2 1 1\n2 5\n  % c\n1 5\n", [(1, 2, 5), (2, 1, 5)]),
    ("g.graph", "2 1 2\n2\n1\n", "line 1: expected the heading"),
    ("g.graph", "2 1\n2\n1\n\n\n", [(1, 2), (2, 1)]),
    ("g.gr", " p sp 2 1\n a 1 2 5\n", [(1, 2, 5)]),
    ("g.gr", "p edge 2 1\ne 1 2\n", "line 2: expected a line that begins with 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), HEADINGS)
def test_headings_of_other_programs(name, content, expected, tmp_path):
    (tmp_path / name).write_bytes(content.encode())
    if isinstance(expected, str):
        with pytest.raises(ev.FormatError) as refused:
            ev.read(tmp_path / name)
        assert re.search(expected, str(refused.value))
    else:
        graph = ev.read(tmp_path / name)
        table = graph.to_arrow()
        found = sorted(
            zip(*(table.column(place).to_pylist() for place in range(len(expected[0]))), strict=True)
        )
        if not graph.directed:
            found = sorted({edge for a, b, *w in found for edge in ((a, b, *w), (b, a, *w))})
        assert found == expected
