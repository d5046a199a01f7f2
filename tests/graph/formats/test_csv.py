"""CSV files of spreadsheets: blanks, quotes, line breaks, and unused columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evener as ev


def _edges(g):
    rows = np.repeat(np.arange(g.n), np.diff(g.offsets).astype(int))
    ends = [g.ids[rows].tolist(), g.ids[g.targets].tolist()]
    return sorted(zip(*ends, *([] if g.weights is None else [g.weights.tolist()]), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "src,dst,,\n1,2,,\n3,4,,\n",
        "src,dst,note,note\n1,2,x,y\n3,4,z,\n",
        "src,dst\n1,2,\n3,4,\n",
        "src,dst,\n1,2\n3,4\n",
        "1,2,\n3,4,\n",
        "1,2,,\n3,4,,\n",
        "1.0,2.0\n3.0,4.0\n",
        "1.000000000000000000e+00,2.000000000000000000e+00\n3.0e+00,4.0e+00\n",
        "src, dst\n1, 2\n3 ,4\n",
        'src, dst\n1, 2\n 3, "4"\n',
        "src dst\n1 2\n3 4\n",
        "  src    dst  note\n    1      2   x y\n".replace("x y", "x") + "    3      4  yy \n",
        "\r\n\r\nsrc;dst\r\n\r\n1;2\r\n3;4\r\n",
        '"src, of";dst;src\n5;2;1\n6;4;3\n',
        "\ufeffsep=;\r\nsrc;dst\r\n1;2\r\n3;4\r\n",
        "# of 2026\n#\n% src,dst\nsrc,dst\n1,2\n3,4\n",
        "#src,dst\n1,2\n3,4\n",
        "# of the year 2026, both ends\n1,2\n3,4\n",
        "sep=,\n\n1,2\n3,4\n",
        '"sep=^"\nsrc^dst^a, b, c\n1^2^x\n3^4^\n',
        "#;src;dst\n7;1;2\n8;3;4\n",
        "# of calls,src,dst\n7,1,2\n8,3,4\n",
    ],
)
def test_ways_to_write_two_edges(text, tmp_path, caplog):
    (tmp_path / "g.csv").write_bytes(text.encode())
    assert _edges(ev.read(tmp_path / "g.csv", weighted=False)) == [(1, 2), (3, 4)]
    assert not caplog.messages


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src,dst\nann, bob\nbob ,eve\n", [("ann", "bob"), ("bob", "eve")]),
        ('src, dst\n"ann", "bob"\n"bob", "eve"\n', [("ann", "bob"), ("bob", "eve")]),
        ('src, dst\nann, "Smith, J"\n', [("ann", "Smith, J")]),
        ('src,dst\n" ann",bob\nann,"bob "\n', [(" ann", "bob"), ("ann", "bob ")]),
        ('src,dst\n"a\nb","c""d"\nx, y\n', [("a\nb", 'c"d'), ("x", "y")]),
    ],
)
def test_blanks_around_a_field_are_removed_unless_quoted(text, expected, tmp_path):
    (tmp_path / "g.csv").write_text(text)
    assert _edges(ev.read(tmp_path / "g.csv")) == expected


@pytest.mark.parametrize(
    "text",
    ["src;dst;w\r\n1;2;0,5\r\n3;4;7\r\n", "1;2;0,5\n3;4;7\n", 'src;dst;w\n"1"; "2";0,5\n3;4;7,0\n'],
)
def test_semicolons_go_with_decimal_commas(text, tmp_path):
    """Spreadsheets write both in countries with decimal commas."""
    (tmp_path / "g.csv").write_text(text)
    edges = [(int(tail), int(head), weight) for tail, head, weight in _edges(ev.read(tmp_path / "g.csv"))]
    assert edges == [(1, 2, 0.5), (3, 4, 7)]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('src,dst,w\na,b,"1,5"\n', {"decimal": ","}, 1.5),
        ('src,dst,w\na,b,"1,234.5"\n', {"thousands": ","}, 1234.5),
        ("src;dst;w\na;b;1,5\na;b;2.5\n", {"sep": ";"}, None),
    ],
)
def test_other_commas_in_numbers_are_refused(text, options, expected, tmp_path):
    path = tmp_path / "g.csv"
    path.write_text(text)
    with pytest.raises(
        ev.FormatError, match=r"line 2: .*give Graph\.from_pandas the table of pandas\.read_csv"
    ):
        ev.read(path)
    if expected is not None:  # the advice
        assert ev.Graph.from_pandas(pd.read_csv(path, **options)).weights.tolist() == [expected]


@pytest.mark.parametrize(("row", "weight"), [("1,2,x;y;z;w", None), ("1, 2, 0.5, x;y;z;w;v", 0.5)])
def test_a_text_with_semicolons_does_not_change_the_separator(row, weight, tmp_path):
    (tmp_path / "g.csv").write_text(f"{row}\n")
    expected = (1, 2) if weight is None else (1, 2, weight)
    assert _edges(ev.read(tmp_path / "g.csv")) == [expected]


@pytest.mark.parametrize(
    ("name", "line", "third"),
    [
        ("g.csv", "1;2;1.234,5", "1.234,5"),
        ("g.csv", "1,2,2020-01-31", "2020-01-31"),
        ("g.txt", "1 2 01/31/2020 10:00", "01/31/2020"),
        ("g.txt", "a b 10:00", "10:00"),
    ],
)
def test_a_third_field_that_is_no_number_is_named_in_a_warning(name, line, third, tmp_path, caplog):
    (tmp_path / name).write_text(f"{line}\n{line}\n")
    graph = ev.read(tmp_path / name)
    assert (graph.m, graph.weights) == (2, None)
    assert f"the third field is not a number, but {third!r}" in caplog.text


def test_an_undirected_graph_of_gephi_is_named_in_a_warning(tmp_path, caplog):
    (tmp_path / "g.csv").write_text("Source,Target,Type,Weight\n1,2,Undirected,5\n")
    assert ev.read(tmp_path / "g.csv").directed
    assert "the column Type says Undirected; give directed=False" in caplog.text


def test_a_decimal_comma_may_be_in_the_first_field(tmp_path):
    (tmp_path / "g.csv").write_text("0,5;1;2\n7;3;4\n")
    assert _edges(ev.read(tmp_path / "g.csv", columns=[1, 2, 0])) == [(1, 2, 0.5), (3, 4, 7)]


@pytest.mark.parametrize("name", ["g.csv", "g.txt"])
@pytest.mark.parametrize("heading", ["", "when,src,dst,weight\n", "src,dst,weight\n"])
@pytest.mark.parametrize(("ids", "expected"), [("02139", ["02139", "1", "2139"]), ("2140", [1, 2139, 2140])])
def test_a_leading_zero_in_a_late_row(ids, expected, heading, name, tmp_path, caplog):
    """02139 and 2139 are two vertices; a weight or a time may have a leading zero."""
    rows = ["2139,1,07"] * 30 + [f"1,{ids},07"]
    if "when" in heading:
        rows = [f"09:30,{row}" for row in rows]
    (tmp_path / name).write_text(heading + "\n".join(rows))
    assert ev.read(tmp_path / name, columns=["src", "dst"] if heading else None).ids.tolist() == expected
    assert ("an id has leading zeros" in caplog.text) == ("02139" in expected)


@pytest.mark.parametrize("name", ["g.csv", "heading.csv", "g.txt"])
def test_ids_with_leading_zeros_are_names(name, tmp_path):
    """Postal codes and account numbers: 02139 is not 2139."""
    text = "02139,10001\n10001,2139\n"
    (tmp_path / name).write_text(f"src,dst\n{text}" if name == "heading.csv" else text)
    graph = ev.read(tmp_path / name)
    assert _edges(graph) == [("02139", "10001"), ("10001", "2139")]
    for copy in ("copy.csv", "copy.txt", "copy.parquet"):
        ev.write(graph, tmp_path / copy)
        assert ev.read(tmp_path / copy).ids.tolist() == ["02139", "10001", "2139"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("g.csv", "src,dst\n1,2\n".encode("utf-16"), r"found UTF-16 text \(save it as UTF-8\)"),
        ("g.txt", b"1 2\r2 3\r", r"found carriage returns; convert it with tr '\\r' '\\n'"),
        ("g.txt", b"ann -> bob\n", "found '->' as head; remove it"),
        ("g.txt", b"1 --> 2\n", "found '-->' as head"),
        ("g.txt", b"1;2\n", "give format='csv' for other separators"),
        ("g.txt", b"sep=,\n1,2\n", "give format='csv' for other separators"),
        (
            "g.txt",
            b"1 2\r2 3\n3 4\r4 5\n",
            r"line 1: .*found carriage returns; convert it with tr '\\r' '\\n'",
        ),
        ("g.txt", b"1,234\t5,678\n", "line 1: expected tail and head with one kind of separator"),
        (
            "g.txt",
            b"(0, 1)\n(1, 2)\n",
            r"line 1: expected tail and head without brackets .* '\(0'; remove them",
        ),
        ("g.txt", b"1\t2\t0,5\n", "line 1: expected tail and head with one kind of separator"),
        ("g.txt", b"1; 2\n", "line 1: .* found '1;'; give format='csv'"),
        ("g.edges", b"%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 5\n", "give format='mtx'"),
        ("g.txt", b"version https://git-lfs.github.com/spec/v1\noid a\nsize 9\n", "run git lfs pull"),
        (
            "g.csv",
            b"src,dst\n9007199254740993.0,1.0\n",
            r"too large numbers; write integers without a point",
        ),
        ("g.txt", b"[[0, 1], [1, 2]]", r"found JSON \(read it with NetworkX"),
        ("g.txt", b"*Vertices 2\n1 a\n2 b\n*Arcs 1\n1 2\n", "found a Pajek file"),
        ("g.csv", b'<?xml version="1.0"?>\n', "found XML, such as GraphML"),
        ("g.txt", b"1 2 0.5\n2 3\n", "line 2: expected a weight.* found '2 3'; complete the line"),
        ("g.txt", b"1 2 0.5\n2 3 x\n", "line 2: expected a weight.* found '2 3 x'; .* weighted=False"),
        ("g.txt", b"a b 0.5\nb c x\n", "line 2: expected a weight.* found 'x'; .* weighted=False"),
        ("g.csv", b"src,dst\nNA,1\n1,2\n", "line 2: expected integers .* found 'NA'"),
        ("g.csv", b"src,dst\n1,2\n-1,2\n", "line 3: expected vertex ids from 0 up, .* strings, in quotes"),
        (
            "g.arrow",
            b"\xff\xff\xff\xff\x10\0\0\0",
            "expected an Arrow file, found a stream; use Graph.from_arrow",
        ),
    ],
)
def test_text_of_another_kind_is_refused(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ev.FormatError, match=sentence):
        ev.read(tmp_path / name)
    if b";" in content:  # the advice
        assert _edges(ev.read(tmp_path / name, format="csv")) == [(1, 2)]


def test_an_id_may_begin_with_a_hash(tmp_path):
    (tmp_path / "g.csv").write_text("#cat,#dog\n#dog,#fox\n")
    assert ev.read(tmp_path / "g.csv", columns=[0, 1]).m == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src,dst,w\n0,1,4\n1,2,5\n", [(0, 1), (1, 2)]),
        ("caller,callee,w\nann,bob,4\nbob,eve,5\n", [("ann", "bob"), ("bob", "eve")]),
        ("from,to\nann,bob\n", [("ann", "bob")]),
        ("x,x,x\n0,1,4\n", [(0, 1)]),
        ("ann,bob,x\n12,eve,y\neve,5,z\n", [("12", "eve"), ("ann", "bob"), ("eve", "5")]),
        ("ann,bob\n", [("ann", "bob")]),
        ("0,1,x\n1,2,y\n", [(0, 1), (1, 2)]),
    ],
)
def test_columns_by_number_skip_the_header(text, expected, tmp_path):
    (tmp_path / "g.csv").write_text(text)
    assert _edges(ev.read(tmp_path / "g.csv", columns=[0, 1])) == expected


@pytest.mark.parametrize("rows", [2, 400])
@pytest.mark.parametrize("gaps", ["", " "])
def test_line_breaks_and_long_texts_in_an_unused_column(rows, gaps, tmp_path):
    notes = ["\n".join(f"line {k}, of" for k in range(400)), "LINESTRING(" + "1 2, " * 400_000 + ")", 'a "b"']
    frame = pd.DataFrame({"src": range(rows), "dst": range(1, rows + 1), "w": np.arange(rows) / 2})
    frame["note"] = [notes[i % (2 if i > 3 else 3)] if i < 6 else notes[0] for i in range(rows)]
    frame.to_csv(tmp_path / "g.csv", index=False)
    text = (tmp_path / "g.csv").read_text()
    (tmp_path / "g.csv").write_text(text.replace(',"', f',{gaps}"'))
    graph = ev.read(tmp_path / "g.csv", columns=["src", "dst", "w"])
    assert _edges(graph) == list(zip(frame.src, frame.dst, frame.w, strict=True))


def test_a_fractional_weight_after_a_whole_weight_in_a_file_with_blanks(tmp_path):
    (tmp_path / "g.csv").write_text('src,dst,weight\n"a", "b", "1"\n"b", "c", "2.5"\n')
    assert _edges(ev.read(tmp_path / "g.csv")) == [("a", "b", 1), ("b", "c", 2.5)]


def test_an_empty_field_between_tabs_is_a_field(tmp_path):
    (tmp_path / "g.csv").write_text("src\tnote\tdst\nann\t\tbob\n")
    assert ev.read(tmp_path / "g.csv").ids.tolist() == ["ann", "bob"]
