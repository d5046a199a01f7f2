"""Names of vertices in text, CSV and Parquet, compared with Python's dict and sort."""

from __future__ import annotations

import random
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import evener as ev
from evener.graph.formats import text_stream
from evener.graph.names import NameTable

names_module = import_module("evener.graph.names")

# Lengths around those that the hash table treats alike: one word, two words, and more.
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 60)


def random_names(count, alphabet, seed):
    rng = random.Random(seed)
    return ["".join(rng.choices(alphabet, k=rng.choice(LENGTHS))) for _ in range(count)]


def random_pairs(count, names, seed):
    rng = random.Random(seed)
    return [(rng.choice(names), rng.choice(names)) for _ in range(count)]


def check(graph, pairs, *weights):
    """Compare a graph with edges between names, and with their weights."""
    ids = sorted({name for pair in pairs for name in pair})
    number = {name: i for i, name in enumerate(ids)}
    assert graph.ids.tolist() == ids
    edges = sorted(
        (number[tail], number[head], *more) for (tail, head), *more in zip(pairs, *weights, strict=True)
    )
    columns = [np.repeat(np.arange(graph.n), graph.out_degree().astype(np.intp)), graph.targets]
    columns += [graph.weights] if weights else []
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == edges


@pytest.mark.parametrize(
    ("suffix", "mark", "newline"), [(".txt", " ", "\n"), (".tsv", "\t", "\r\n"), (".csv", ",", "\n")]
)
def test_names_in_text_of_several_parts(tmp_path, suffix, mark, newline):
    # More names than the table has room for at first, and prefixes that are longer than a word.
    short = random_names(30_000, "abcdé漢😀#%'", seed=1)
    names = [f"x{name}" for name in short] + [f"http://example.org/{name}" for name in short]
    pairs = random_pairs(90_000, names, seed=2)
    lines = [mark.join(pair) for pair in pairs]
    heading = ["src,dst"] if suffix == ".csv" else ["# Directed graph", "# Ids: strings"]
    lines[50_000:50_000] = ["", ""] if suffix == ".csv" else ["", "# a comment, with commas", "% and another"]
    path = tmp_path / f"g{suffix}"
    path.write_text(newline.join([*heading, *lines]), encoding="utf-8", newline="")
    assert path.stat().st_size > 3 << 20
    check(ev.read(path), pairs)


@pytest.mark.parametrize(
    ("suffix", "odd", "pair"),
    [
        (".txt", '"c d" a', ("c d", "a")),
        (".txt", "c , a", ("c", "a")),
        (".txt", " c a", ("c", "a")),
        (".csv", '"c,d",a', ("c,d", "a")),
        (".csv", " c ,a", ("c", "a")),
        (".csv", "c d,a", ("c d", "a")),
    ],
)
def test_one_line_of_another_syntax(tmp_path, suffix, odd, pair):
    mark = "," if suffix == ".csv" else " "
    lines = [mark.join(("a", "b"))] * 1000 + [odd]
    path = tmp_path / f"g{suffix}"
    path.write_text("\n".join((["src,dst"] if suffix == ".csv" else []) + lines))
    check(ev.read(path), [("a", "b")] * 1000 + [pair])


@pytest.mark.parametrize(("suffix", "mark"), [(".txt", " "), (".csv", ",")])
def test_one_odd_line_while_the_table_grows(tmp_path, monkeypatch, suffix, mark):
    """The odd line is in the first of many parts, and other parts fill the table."""
    monkeypatch.setattr(names_module, "_SLOTS", 1 << 10)
    monkeypatch.setattr(text_stream, "PART_BYTES", 256)
    pairs = [(f"u{i}", f"v{i}") for i in range(2000)]
    lines = [mark.join(pair) for pair in pairs]
    heading = ["src,dst"] if suffix == ".csv" else ["# Ids: strings"]
    path = tmp_path / f"g{suffix}"
    path.write_text("\n".join([*heading, *lines[:3], f"{lines[3]} ", *lines[4:], ""]))
    check(ev.read(path), pairs)
    path.write_text("\n".join([*heading, *lines[:3], mark.join("abcd"), *lines[4:], ""]))
    with pytest.raises(ev.FormatError) as caught:
        ev.read(path)
    assert caught.value.line == 5


@pytest.mark.parametrize(("suffix", "mark"), [(".txt", " "), (".csv", ",")])
@pytest.mark.parametrize(("fields", "message"), [((b"b", b"\xff"), "UTF-8"), ((b"a",), "fields")])
def test_errors_name_a_late_line(tmp_path, suffix, mark, fields, message):
    heading = b"src,dst" if suffix == ".csv" else b"# Ids: strings"
    lines = [[b"a", b"b"]] * 500 + [fields] + [[b"a", b"b"]] * 3
    path = tmp_path / f"g{suffix}"
    path.write_bytes(b"\n".join([heading, *map(mark.encode().join, lines)]))
    with pytest.raises(ev.FormatError, match=message) as caught:
        ev.read(path)
    assert caught.value.line == 502


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("distinct", [5, 4000])
def test_names_in_several_row_groups(tmp_path, coded, distinct):
    names = ["", *random_names(distinct, "abé😀", seed=3)]
    pairs = random_pairs(9_000, names, seed=4)
    weights = np.arange(len(pairs), dtype=np.float32)
    table = pa.table([*map(list, zip(*pairs, strict=True)), weights], ["src", "dst", "weight"])
    path = tmp_path / "g.parquet"
    parquet.write_table(table, path, row_group_size=2500, use_dictionary=coded)
    graph = ev.read(path)
    check(graph, pairs, weights.tolist())
    missing = pa.table({"src": ["a"] * 3000, "dst": [*["b"] * 2999, None]})
    parquet.write_table(missing, path, row_group_size=1000, use_dictionary=coded)
    with pytest.raises(ev.FormatError, match="but it is missing in row 3000"):
        ev.read(path)


def test_names_that_differ_late_or_in_length_are_in_order():
    prefix = "a" * 40
    names = [prefix + end for end in ("", "a", "b", "aa", "é", "z" * 30)] + ["a" * k for k in range(1, 40)]
    table, codes = NameTable("a test"), np.empty(2 * len(names), np.uint32)
    table.add(pa.array(["", "x", "yz", *names, *reversed(names)]).slice(3), codes)
    assert codes[: len(names)].tolist() == codes[len(names) :][::-1].tolist()
    ids, nul = table.number([codes])
    assert nul is None
    assert ids.tolist() == sorted(names)
    assert ids[codes].tolist() == [*names, *reversed(names)]


def test_views_of_strings_in_parquet(tmp_path):
    table = pa.table(
        {"src": pa.array(["a", "b"], pa.string_view()), "dst": pa.array(["b", "c"], pa.string_view())}
    )
    parquet.write_table(table, tmp_path / "g.parquet")
    check(ev.read(tmp_path / "g.parquet"), [("a", "b"), ("b", "c")])


def test_names_and_weights_without_rows_in_parquet(tmp_path):
    table = pa.table(
        {
            "src": pa.array([], pa.string()),
            "dst": pa.array([], pa.string()),
            "weight": pa.array([], pa.int32()),
        }
    )
    parquet.write_table(table, tmp_path / "g.parquet")
    assert ev.read(tmp_path / "g.parquet").weights.dtype == np.int32


def test_a_carriage_return_in_a_quoted_name(tmp_path):
    (tmp_path / "g.csv").write_bytes(b'src,dst\na,b\n"c\rd",b\n')
    check(ev.read(tmp_path / "g.csv"), [("a", "b"), ("c\rd", "b")])
