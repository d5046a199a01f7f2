"""Empty and missing fields: an end or a weight is an error, another field is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import evener as ev
from evener.graph.formats import read_share
from evener.testing.ranks import run_ranks

# Separators that mark fields, and names of files with them. A CSV file with names needs a heading.
SEPARATORS = {",": ["g.txt", "g.csv"], "\t": ["g.tsv", "g.csv"], ";": ["g.csv"], "|": ["g.csv"]}
CASES = [
    (separator, name, heading, names)
    for separator, files in SEPARATORS.items()
    for name, heading, names in itertools.product(files, (False, True), (False, True))
    if not (name == "g.csv" and names and not heading) and not (name == "g.txt" and heading)
]
KEPT = [("1", "2"), ("2", "3"), ("3", "1")]


def edges(graph):
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(int))
    columns = [graph.ids[tails].tolist(), graph.ids[graph.targets].tolist()]
    return sorted(zip(*columns, *([] if graph.weights is None else [graph.weights.tolist()]), strict=True))


def write(path, rows, separator, *, heading, names, end="\n"):
    """Write rows of fields, of which the first two are ends."""
    if names:
        rows = [[f"v{field}" if field else "" for field in row[:2]] + row[2:] for row in rows]
    lines = [separator.join(row) for row in rows]
    head = [separator.join(heading)] if heading else []
    path.write_bytes(("".join(f"{line}{end}" for line in [*head, *lines])).encode())


def expected(names, weights=()):
    ends = [(f"v{a}", f"v{b}") if names else (int(a), int(b)) for a, b in KEPT]
    return sorted((*end, *weight) for end, weight in itertools.zip_longest(ends, weights, fillvalue=()))


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("separator", "name", "heading", "names"), CASES)
def test_other_fields_may_be_empty_or_missing(separator, name, heading, names, end, tmp_path, caplog):
    path = tmp_path / name
    columns = ["src", "dst", "kind", "count"] if heading else []
    for others in (
        [["x", "2"], ["x", ""], ["x", "4"]],
        [["x", "2"], ["x"], ["x", "4"]],
        [["x", "2"], [], ["", ""]],
        [["x", "2"], ["", "3"], ["x", "4"]],
        [["x", "2"], ["x", "2", ""], ["x", "4", "", ""]],
    ):
        rows = [[*ends, *other] for ends, other in zip(KEPT, others, strict=True)]
        write(path, rows, separator, heading=columns, names=names, end=end)
        assert edges(ev.read(path)) == expected(names), others
    weights = ["src", "dst", "weight", "kind"] if heading else []
    for others in ([["5", "x"], ["6", ""], ["7"]], [["5", "x"], ["6"], ["7", "x", ""]]):
        rows = [[*ends, *other] for ends, other in zip(KEPT, others, strict=True)]
        write(path, rows, separator, heading=weights, names=names, end=end)
        assert edges(ev.read(path)) == expected(names, [(5,), (6,), (7,)]), others
    assert all("no weights" in message for message in caplog.messages)


@pytest.mark.parametrize(("separator", "name", "heading", "names"), CASES)
def test_an_empty_end_or_weight_is_an_error_with_its_line(separator, name, heading, names, tmp_path):
    path = tmp_path / name
    weights = ["src", "dst", "weight", "kind"] if heading else []
    for wrong in (["", "3", "5", "x"], ["2", "", "5", "x"], ["2", "3", "", "x"], ["2", "3"], ["2"]):
        rows = [["1", "2", "5", "x"], wrong, ["3", "1", "6", "x"]]
        write(path, rows, separator, heading=weights, names=names)
        with pytest.raises(ev.FormatError) as refused:
            ev.read(path)
        assert refused.value.line == 2 + heading, wrong


@pytest.mark.parametrize(("separator", "name", "heading", "names"), CASES)
def test_a_weight_that_is_empty_in_the_first_row_only_is_an_error(separator, name, heading, names, tmp_path):
    path = tmp_path / name
    rows = [["1", "2", ""], ["2", "3", "5"], ["3", "1", "6"]]
    write(path, rows, separator, heading=["src", "dst", "weight"] if heading else [], names=names)
    with pytest.raises(ev.FormatError):
        ev.read(path)


@pytest.mark.parametrize(("separator", "name", "heading", "names"), CASES)
def test_a_file_that_ends_within_a_row_is_refused(separator, name, heading, names, tmp_path):
    path = tmp_path / name
    columns = ["src", "dst", "kind", "count"] if heading else []
    write(path, [["1", "2", "x", "5"], ["2", "33"]], separator, heading=columns, names=names)
    path.write_bytes(path.read_bytes()[:-2])  # the head is now 3
    with pytest.raises(ev.FormatError, match="the file ends within this") as refused:
        ev.read(path)
    assert refused.value.line == 2 + heading


@pytest.mark.parametrize(
    "content", ["1\t\t2\n2\t\t3\n", "\t1\t2\n\t2\t3\n", "a\t\tb\nb\t\tc\n", "1  2\n2  3\n"]
)
def test_tabs_and_blanks_may_align_columns(content, tmp_path):
    (tmp_path / "g.txt").write_text(content)
    assert ev.read(tmp_path / "g.txt").m == 2


def test_a_third_field_that_is_always_empty_is_no_weight(tmp_path, caplog):
    for content in ("1\t2\t\t5\n2\t3\t\t6\n", "a\tb\t\t5\nb\tc\t\t6\n", "1,2,,5\n2,3,,6\n"):
        (tmp_path / "g.txt").write_text(content)
        assert ev.read(tmp_path / "g.txt").weights is None
        assert "the third field is not a number, but ''" in caplog.messages[-1]


@pytest.mark.parametrize("content", ["1\t2\tx\t2\n2\t3\tx\t\n3\t1\tx\n", "a\tb\tx\t2\nb\tc\tx\t\nc\ta\tx\n"])
def test_several_ranks_read_empty_fields(content, tmp_path):
    (tmp_path / "g.tsv").write_text(content)
    shares = run_ranks(3, lambda world: read_share(tmp_path / "g.tsv", world))
    assert sum(len(share.edges.src) for share in shares) == 3
    (tmp_path / "g.tsv").write_text(content + content.splitlines()[0][0] + "\t\tx\n")
    with pytest.raises(ev.FormatError, match=r"line 4: .*empty field"):
        run_ranks(3, lambda world: read_share(tmp_path / "g.tsv", world))


def test_several_ranks_compare_rows_with_the_first_row_of_the_file(tmp_path):
    (tmp_path / "g.tsv").write_text("a\tb\tx\nb\tc\tx\nc\td\nd\te\tx\n")
    shares = run_ranks(2, lambda world: read_share(tmp_path / "g.tsv", world))
    assert [len(share.edges.src) for share in shares] == [2, 2]  # the second rank begins with a short row


def test_the_first_wrong_row_is_named_even_if_the_file_ends_within_a_row(tmp_path):
    (tmp_path / "g.txt").write_text("a b x\nb c\nc d x\nd")
    for read in (ev.read, lambda path: run_ranks(1, lambda world: read_share(path, world))):
        with pytest.raises(ev.FormatError, match=r"line 2: expected 3 fields, .*, found 2$"):
            read(tmp_path / "g.txt")


def test_several_ranks_refuse_column_names_with_a_public_error(tmp_path):
    (tmp_path / "g.tsv").write_text("source\ttarget\na\tb\n")
    with pytest.raises(ev.FormatError, match="found column names") as refused:
        run_ranks(2, lambda world: read_share(tmp_path / "g.tsv", world))
    assert type(refused.value) is ev.FormatError


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_several_ranks_find_a_header_row_even_if_the_first_rank_has_no_other_row(ranks, tmp_path):
    (tmp_path / "g.txt").write_text("alpha-vertex\tbeta-vertex\tcost\n1\t4\t8\n6\t6\t2\n")
    with pytest.raises(ev.FormatError, match="line 1: expected an edge, found column names"):
        run_ranks(ranks, lambda world: read_share(tmp_path / "g.txt", world))
