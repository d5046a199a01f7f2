"""Text edge lists: blanks, comments, line ends, ids and numbers of all kinds."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import evener as ev
from evener.graph.formats import text_stream


def _edges(g):
    rows = np.repeat(np.arange(g.n), np.diff(g.offsets).astype(int))
    return [(g.ids[a], g.ids[b]) for a, b in zip(rows, g.targets, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n",
        "0\t1\n1\t2\n",
        "0,1\n1,2\n",
        "0 , 1\n1, 2\n",
        "  0   1  \n\t1 \t 2\t\n",
        "0 1\r\n1 2\r\n",
        "0 1\n1 2",
        "# c\n% c\n\n0 1\n# 7 8\n\n%9 9\n1 2\n\n",
        "0 1 # x\n1 2 # y\n",
        "\n\n0 1\n1 2\n",
        "0,1,\n1,2,\n",
        "0.0 1.0\n1. 2\n",
        "0.000000000000000000e+00 1.000000000000000000e+00\n1.0e+00 2.0e+00\n",
    ],
)
def test_ways_to_write_two_edges(text, tmp_path):
    (tmp_path / "g.txt").write_bytes(text.encode())
    assert _edges(ev.read(tmp_path / "g.txt")) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("comment", "directed"),
    [
        ("# Undirected graph: ../../data/com-dblp.txt", False),
        ("# Directed graph (each unordered pair of nodes is saved once)", True),
        ("% sym unweighted", False),
        ("% asym positive", True),
        ("# nothing of the kind", True),
    ],
)
def test_a_comment_gives_the_direction(comment, directed, tmp_path):
    (tmp_path / "g.txt").write_text(f"{comment}\n0 1\n1 2\n")
    assert ev.read(tmp_path / "g.txt").directed is directed
    assert ev.read(tmp_path / "g.txt", directed=not directed).directed is not directed


WEIGHTS = [
    "0",
    "1.5",
    "2e3",
    "-7.25E-2",
    "+4",
    ".5",
    "5.",
    "1e-300",
    "1.7976931348623157e308",
    "4.9e-324",
    "123456789012345678901234567890",
    "0.1",
    "0.30000000000000004",
    "2.2250738585072014e-308",
    "9007199254740993",
    "3.141592653589793238462643383279",
    "1e22",
    "1e23",
    "0.000000000000000000000000000001234567890123",
    "179769313486231570000000000000",
    "1e0",
    "1e+5",
    "1e-5",
    "-0.0",
    "0." + "1234567890" * 12,
    "-" + "9" * 200 + "e-150",
]


def test_weights_are_rounded_as_in_python(tmp_path):
    text = "".join(f"{i} {i} {w}\n" for i, w in enumerate(WEIGHTS))
    (tmp_path / "g.wel").write_text(text)
    weights = ev.read(tmp_path / "g.wel").weights
    assert weights.tolist() == [float(w) for w in WEIGHTS]


def test_random_weights_are_exact(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.standard_normal(20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    (tmp_path / "g.wel").write_text("".join(f"{i} {i} {v!r}\n" for i, v in enumerate(values.tolist())))
    assert np.array_equal(ev.read(tmp_path / "g.wel").weights, values)


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ("1 2 3", np.int32),
        ("-2147483647 2147483647 0", np.int32),
        ("2147483648 1 1", np.int64),
        ("1 2.0 3", np.float64),
        ("1 2e1 3", np.float64),
        ("1 2 9007199254740993", np.int64),
        ("+1 00002 -9223372036854775808 9223372036854775807", np.int64),
        ("0 18446744073709551615 9007199254740993", np.uint64),
        ("-1 9223372036854775808", np.float64),
        ("1 18446744073709551616", np.float64),
        ("9007199254740993 1.5", np.float64),
        ("1 " + "1" * 70, np.float64),
        ("1 -" + "0" * 70 + "9007199254740993", np.int64),
    ],
)
def test_whole_weights_are_integers(weights, dtype, tmp_path):
    (tmp_path / "g.txt").write_text("".join(f"{i} {i} {w}\n" for i, w in enumerate(weights.split())))
    read = ev.read(tmp_path / "g.txt").weights
    assert read.dtype == dtype
    number = float if dtype == np.float64 else int
    assert read.tolist() == [number(w) for w in weights.split()]


@pytest.mark.parametrize("suffix", [".txt", ".mtx", ".gr", ".properties", ".csv", ".parquet"])
@pytest.mark.parametrize(
    ("weights", "dtype"),
    [([2**53 + 1, -(2**63), 2**63 - 1], np.int64), ([2**64 - 1, 2**53 + 1, 0], np.uint64)],
    ids=["signed", "unsigned"],
)
def test_64_bit_integers_are_read_back(weights, dtype, suffix, tmp_path):
    path = tmp_path / f"g{suffix}"
    ev.write(ev.Graph.from_edges([0, 1, 2], [1, 2, 0], np.array(weights, dtype)), path)
    assert ev.read(path).weights.tolist() == weights


def test_large_integers_among_comments_in_many_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(text_stream, "CHUNK_BYTES", 4000)
    monkeypatch.setattr(text_stream, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(text_stream, "PART_BYTES", 500)
    weights = [2**60 + i if i % 3 else i for i in range(2000)]
    rows = [f"{'# note' * (i % 5 == 0)}\n{i} {i} {w}\n" for i, w in enumerate(weights)]
    path = tmp_path / "g.txt"
    path.write_text("# Weights: uint64\n" + "".join(rows))
    assert ev.read(path).weights.tolist() == weights

    rows.insert(1500, "\n# note\n 7 7 1e400\n")  # 1,500 rows of two lines precede it
    path.write_text("".join(rows))
    with pytest.raises(ev.FormatError, match=r"line 3003: .*a finite number, .* '7 7 1e400'"):
        ev.read(path)


def test_a_comment_gives_the_type_of_weights(tmp_path):
    (tmp_path / "g.txt").write_text(f"# Weights: int64\na b {2**53 + 1}\nb c {-(2**53) - 1}\n")
    assert ev.read(tmp_path / "g.txt").weights.tolist() == [2**53 + 1, -(2**53) - 1]
    (tmp_path / "g.txt").write_text("# Weights: int8\na b 1\nb c 1e2\n")
    weights = ev.read(tmp_path / "g.txt").weights
    assert (weights.tolist(), weights.dtype) == ([1, 100], np.int8)


def test_ids_of_all_sizes(tmp_path):
    ids = [0, 7, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1]
    (tmp_path / "g.txt").write_text("".join(f"{a} {b}\n" for a, b in pairwise(ids)))
    assert ev.read(tmp_path / "g.txt").ids.tolist() == ids


def test_a_late_large_id(tmp_path, monkeypatch):
    monkeypatch.setattr(text_stream, "CHUNK_BYTES", 1 << 12)
    text = "".join(f"{i} {i + 1}\n" for i in range(3000)) + f"3000 {2**40}\n# c\n1 1\n"
    (tmp_path / "g.txt").write_text(text)
    graph = ev.read(tmp_path / "g.txt")
    assert graph.m == 3002
    assert graph.ids[-1] == 2**40


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_many_windows_and_chunks(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(text_stream, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(text_stream, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(text_stream, "PART_BYTES", 700)
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 10**6, (2, 9000))
    rows = [
        f"{a}{' ' * (1 + a % 3)}{b}\n" + "# note\n" * int(a % 7 == 0) for a, b in zip(src, dst, strict=True)
    ]
    content = "".join(rows).encode()
    path = tmp_path / f"g{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    expected = ev.Graph.from_edges(src, dst)
    graph = ev.read(path)
    assert np.array_equal(graph.targets, expected.targets)
    assert np.array_equal(graph.offsets, expected.offsets)
    assert np.array_equal(graph.ids, expected.ids)

    line = sum(row.count("\n") for row in rows[:8000]) + 1
    rows.insert(8000, "1 -1\n")
    content = "".join(rows).encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    with pytest.raises(ev.FormatError, match=f"line {line}:") as raised:
        ev.read(path)
    assert raised.value.line == line


def test_names(tmp_path):
    (tmp_path / "g.txt").write_text("# who knows whom\nann  bob 2\n\nbob\tcarl 3.5\n# x y z\nann,carl,1\n")
    graph = ev.read(tmp_path / "g.txt")
    assert _edges(graph) == [("ann", "bob"), ("ann", "carl"), ("bob", "carl")]
    assert graph.weights.tolist() == [2, 1, 3.5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1c03-5 af01-9\naf01-9 be02-7\n", [("1c03-5", "af01-9"), ("af01-9", "be02-7")]),
        ("10.0.0.1 10.0.0.2\n", [("10.0.0.1", "10.0.0.2")]),
        ("2024-01-31\t2024-02-01\n", [("2024-01-31", "2024-02-01")]),
        ("1e5 2e4\n100000 ab\n", [("100000", "ab"), ("1e5", "2e4")]),
        ("# Ids: strings\n11637411792763146860 1\n1 02\n", [("1", "02"), ("11637411792763146860", "1")]),
        ("Paris\tOslo\nLos Angeles\tSan Diego\n", [("Los Angeles", "San Diego"), ("Paris", "Oslo")]),
        ("Smith, J\tDoe, A\t\n", [("Smith, J", "Doe, A")]),
        ("New York, Los Angeles\nRome,Apollo 11\n", [("New York", "Los Angeles"), ("Rome", "Apollo 11")]),
        ("a,b,\nc , d ,\n", [("a", "b"), ("c", "d")]),
        ('"New York" "Los Angeles"\nRome "a ""b"""\n', [("New York", "Los Angeles"), ("Rome", 'a "b"')]),
        ('"Smith, J",Doe B\nx, "y"\n', [("Smith, J", "Doe B"), ("x", "y")]),
        ('6"\t"7"\nx\t"a\tb"\n', [('6"', "7"), ("x", "a\tb")]),
        ('"ann bob"\t2\n"bob eve"\t3\n', [("ann bob", "2"), ("bob eve", "3")]),
        ("a b\u00a0\nb\u00a0 c\n", [("a", "b\u00a0"), ("b\u00a0", "c")]),
        ("(a) (b)\n", [("(a)", "(b)")]),
    ],
)
def test_names_with_digits_blanks_and_quotes(text, expected, tmp_path):
    (tmp_path / "g.txt").write_text(text)
    assert _edges(ev.read(tmp_path / "g.txt")) == expected


def test_names_with_blanks_and_weights(tmp_path):
    (tmp_path / "g.txt").write_text("Los Angeles\tRome\t5\nRome\tNew York\t2.5\n")
    graph = ev.read(tmp_path / "g.txt")
    assert _edges(graph) == [("Los Angeles", "Rome"), ("Rome", "New York")]
    assert graph.weights.tolist() == [5, 2.5]


@pytest.mark.parametrize("name", ["links.txt", "links.csv"])
def test_a_file_with_a_header_can_be_read_after_the_suggested_fix(name, tmp_path):
    """The file has the format of the STRING protein database."""
    text = "protein1 protein2 combined_score\n9606.ENSP1 9606.ENSP2 173\n9606.ENSP1 9606.ENSP3 154\n"
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(
        ev.FormatError, match=r"begin the line with #, or use the suffix|give columns="
    ) as caught:
        ev.read(path)
    columns = None
    if "begin the line with #" in str(caught.value):
        path.write_text("#" + text)
    else:
        columns = ["protein1", "protein2", "combined_score"]
    graph = ev.read(path, columns=columns)
    assert _edges(graph) == [("9606.ENSP1", "9606.ENSP2"), ("9606.ENSP1", "9606.ENSP3")]
    assert graph.weights.tolist() == [173, 154]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("116374117927631468606 101765416973555767821\n", 1),
        ("1 2\n1c af\n", 2),
        ("1.5 2.0\n", 1),
        ("1 2\n-1 2\n", 2),
        ("1.0 2.0\n2.0 x\n", 2),
    ],
)
def test_a_file_with_string_ids_can_be_read_after_the_suggested_fix(text, line, tmp_path):
    path = tmp_path / "g.txt"
    path.write_text(text)
    with pytest.raises(ev.FormatError, match="begin the file with the line '# Ids: strings'") as caught:
        ev.read(path)
    assert caught.value.line == line
    path.write_text("# Ids: strings\n" + text)
    assert _edges(ev.read(path)) == sorted(tuple(row.split()) for row in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "src\tdst\nann\tbob\nbob\teve\n",
        "From To weight\nann bob 2.5\nbob eve 4\n",
        "source,target\n1,2\n2,3\n",
        "# who knows whom\nsource,target,how\nann,bob,well\nbob,eve,ill\n",
    ],
)
def test_usual_column_names_are_a_heading(text, tmp_path):
    for suffix in (".tsv", ".txt.gz"):
        path = tmp_path / f"g{suffix}"
        path.write_bytes(gzip.compress(text.encode()) if suffix == ".txt.gz" else text.encode())
        rows = [re.split(r"[\t ,]", line) for line in text.splitlines() if line[0] != "#"][1:]
        graph = ev.read(path)
        assert [(str(tail), str(head)) for tail, head in _edges(graph)] == [(a, b) for a, b, *_ in rows]
        assert (graph.weights is not None) == ("weight" in text)


def test_column_names_that_may_be_an_edge(tmp_path, caplog):
    (tmp_path / "g.txt").write_text("u v\nann bob\n")
    assert _edges(ev.read(tmp_path / "g.txt")) == [("ann", "bob")]
    assert "to read it as an edge, begin the file with '# Ids: strings'" in caplog.text
    (tmp_path / "g.txt").write_text("# Ids: strings\nu v\nann bob\n")
    assert _edges(ev.read(tmp_path / "g.txt")) == [("ann", "bob"), ("u", "v")]


def test_other_column_names_are_not_read_as_an_edge(tmp_path):
    text, path = "person friend since\nann bob 1999\nbob eve 2001\n", tmp_path / "g.tsv"
    path.write_text(text)
    with pytest.raises(ev.FormatError, match="found column names; begin the line with #, or give columns="):
        ev.read(path)
    assert ev.read(path, columns=["friend", "person", "since"]).weights.tolist() == [1999, 2001]
    path.write_text(f"# {text}")
    assert ev.read(path).m == 2


@pytest.mark.parametrize(
    "text", ["u v\nv w\nw u\n", "src dst\n", "ann bob {}\nbob eve {}\n", "from to\nto from\n"]
)
def test_vertices_may_have_the_names_of_columns(text, tmp_path):
    (tmp_path / "g.txt").write_text(text)
    assert ev.read(tmp_path / "g.txt").m == text.count("\n")
    ev.write(ev.Graph.from_edges(["src", "a"], ["dst", "b"]), tmp_path / "own.txt")
    assert ev.read(tmp_path / "own.txt").n == 4


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_unused_columns_are_logged(suffix, tmp_path, caplog):
    path = tmp_path / f"g{suffix}"
    table = pa.table({"from": [1, 2], "to": [2, 3], "length": [10, 20], "kind": ["a", "b"]})
    (csv.write_csv if suffix == ".csv" else parquet.write_table)(table, path)
    assert ev.read(path).weights is None
    expected = "the graph has no weights: no column is named weight, only 'length', 'kind'; give columns="
    assert caplog.messages == [f"{path}: {expected}"]
    caplog.clear()
    assert ev.read(path, weighted=False).weights is None
    assert ev.read(path, columns=["from", "to", "length"]).weights.tolist() == [10, 20]
    assert ev.read(path, columns=["from", "to"]).weights is None
    assert not caplog.messages


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        (
            "src,dst\n1,2\n3,x\n",
            3,
            "expected integers in column 'dst', as in its first row, found 'x'; correct it, or quote",
        ),
        (
            "a,b\n1,2\n1.5,2\n",
            3,
            "expected integers in column 'a', as in its first row, found '1.5'; correct it, or",
        ),
        (
            "src,dst,w\n1,2,0.5\n2,3,much\n",
            3,
            "expected numbers in column 'w', as in its first row, found 'much'; correct",
        ),
        (
            "src,dst\n1,2\n3\n",
            3,
            "expected 2 fields, as in the first row, found 1 in '3'",
        ),
    ],
)
def test_csv_errors_name_the_line_and_the_column(content, line, expected, tmp_path):
    path = tmp_path / "g.csv"
    path.write_text(content)
    columns = ["a", "b"] if content.startswith("a") else None
    with pytest.raises(ev.FormatError, match=re.escape(expected)) as caught:
        ev.read(path, columns=columns)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_text_in_another_encoding_is_an_error(suffix, tmp_path):
    path = tmp_path / f"g{suffix}"
    path.write_bytes((b"src,dst\n" if suffix == ".csv" else b"") + b"one,two\ncaf\xe9,bar\nx,y\n")
    with pytest.raises(ev.FormatError, match="convert the file to UTF-8") as caught:
        ev.read(path)
    assert caught.value.line == (3 if suffix == ".csv" else 2)


def test_a_fourth_field_is_ignored(tmp_path):
    (tmp_path / "g.txt").write_text("% asym\n1 2 5 1131312\n2 3 6 1131313\n")
    assert ev.read(tmp_path / "g.txt").weights.tolist() == [5, 6]


def test_an_edge_count_in_a_comment_may_be_slightly_wrong(tmp_path):
    rows = "".join(f"{i} {i + 1}\n" for i in range(999))
    (tmp_path / "g.txt").write_text(f"# Nodes: 1000 Edges: 1000\n{rows}")
    assert ev.read(tmp_path / "g.txt").m == 999


def test_common_csv_layouts(tmp_path):
    (tmp_path / "a.csv").write_text('Source,Target,Type,Weight\n"x, y",b,Directed,2\nb,"x, y",Directed,3\n')
    graph = ev.read(tmp_path / "a.csv")
    assert _edges(graph) == [("b", "x, y"), ("x, y", "b")]
    assert graph.weights.tolist() == [3, 2]
    (tmp_path / "b.csv").write_text("5,6\n6,7\n")
    assert _edges(ev.read(tmp_path / "b.csv")) == [(5, 6), (6, 7)]
    (tmp_path / "c.csv").write_text("time;a;b\n1;5;6\n2;6;7\n")
    assert _edges(ev.read(tmp_path / "c.csv", columns=["a", "b"])) == [(5, 6), (6, 7)]
    (tmp_path / "d.csv").write_text("1,ann,bob\n2,bob,cy\n")
    assert _edges(ev.read(tmp_path / "d.csv", columns=[1, 2])) == [("ann", "bob"), ("bob", "cy")]


def test_fractional_csv_weights_after_a_whole_weight(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,weight\n0,1,1\n1,2,2.5\n")
    assert ev.read(tmp_path / "g.csv").weights.tolist() == [1, 2.5]


def test_names_that_cannot_be_read_back_are_rejected(tmp_path):
    for name in ("a b", "#a", "", "a,b"):
        with pytest.raises(ev.ArgumentError, match=r"\.parquet"):
            ev.write(ev.Graph.from_edges(["x"], [name]), tmp_path / "g.txt")
    assert not list(tmp_path.iterdir())


def test_specs(tmp_path, monkeypatch):
    assert ev.read("grid:3x4").n == 12
    with pytest.raises(ev.ArgumentError, match="put the options into the spec"):
        ev.read("rmat:4", directed=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rmat:4").write_text("0 1\n")
    assert ev.read("rmat:4", format="txt").n == 2


@pytest.mark.parametrize("name", ["g.txt", "g.el", "g.csv"])
def test_a_byte_order_mark_is_skipped(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + (b"src,dst\n1,2\n2,3\n" if name == "g.csv" else b"1 2\n2 3\n"))
    graph = ev.read(path)
    assert (graph.ids.tolist(), graph.m) == ([1, 2, 3], 2)


def test_ids_of_a_csv_file_in_quotes_are_strings(tmp_path):
    path = tmp_path / "g.csv"
    ev.write(ev.Graph.from_edges(["01", "2"], ["2", "3"]), path)
    assert _edges(ev.read(path)) == [("01", "2"), ("2", "3")]
    path.write_text('src,dst,note,weight\n"1","01","a, b","2"\n"01","1.0","","3"\n')
    graph = ev.read(path)
    assert _edges(graph) == [("01", "1.0"), ("1", "01")]
    assert graph.weights.tolist() == [3, 2]
    path.write_text('src,dst\n1,"2"\n"2",3\n')  # only one end is quoted, so the ids are integers
    assert _edges(ev.read(path)) == [(1, 2), (2, 3)]
    path.write_text('src;dst\n1;2\n"2";"3"\n')  # the first row decides
    assert _edges(ev.read(path)) == [(1, 2), (2, 3)]
    path.write_text('"src","dst"\n"1","2"\n"2","3"\n')  # everything is in quotes
    assert _edges(ev.read(path)) == [(1, 2), (2, 3)]
    for other in ("01", "+1", " 1", "1.0", "-0", "12345678901234567890"):  # integers would change these ids
        path.write_text(f'"src","dst"\n"1","2"\n"{other}","3"\n')
        assert _edges(ev.read(path)) == sorted([("1", "2"), (other, "3")])


@pytest.mark.parametrize(
    ("ends", "n", "expected"),
    [
        (([0, 2], [2, 0]), 4, "CSV files omit 2 vertices without edges"),
        (([0], [1]), 3, "CSV files omit 1 vertex without edges"),
        (([0, 1], [1, 2]), None, None),
        ((["a"], ["b"]), None, None),
    ],
    ids=["two", "one", "none", "names"],
)
def test_vertices_that_csv_omits_are_logged(ends, n, expected, tmp_path, caplog):
    ev.write(ev.Graph.from_edges(*ends, n=n), tmp_path / "g.csv")
    assert [expected in message for message in caplog.messages] == ([] if expected is None else [True])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("roads.gr", "p sp 3 2\na 1 2 5\na 2 3 7\n"),
        ("mesh.metis", "3 2\n2\n1 3\n2\n"),
    ],
)
def test_numbers_from_1_stay_the_ids(name, text, tmp_path):
    """The path 1, 2, 3 in each format. A graph with these ids is written as it was read."""
    (tmp_path / name).write_text(text)
    graph = ev.read(tmp_path / name)
    assert graph.ids.tolist() == [1, 2, 3]
    assert 3 in graph.neighbors(2).tolist()
    result = ev.bfs(graph, source=1)
    assert result["parent"].tolist() == [1, 1, 2]
    assert result.path(3) == [1, 2, 3]
    assert result.to_arrow()["vertex"].to_pylist() == [1, 2, 3]
    with pytest.raises(ev.UnknownVertexError, match="its ids run from 1 to 3"):
        ev.bfs(graph, source=0)
    ev.write(graph, tmp_path / f"again_{name}")
    assert ev.read(tmp_path / f"again_{name}").edges().target.tolist() == graph.edges().target.tolist()
    with pytest.raises(ev.ArgumentError, match="ids='drop'"):
        ev.write(graph.subgraph([2, 3]), tmp_path / f"part_{name}")
    with pytest.raises(ev.ArgumentError, match="ids='drop'"):
        ev.write(graph, tmp_path / "g.npz")
