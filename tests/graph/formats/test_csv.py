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
        "\r\n\r\nsrc;dst\r\n\r\n1;2\r\n3;4\r\n",
        '"src, of";dst;src\n5;2;1\n6;4;3\n',
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
