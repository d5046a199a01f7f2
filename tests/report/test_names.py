"""Reports and traces are written under names of their own kind alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.errors import ArgumentError
from evener.results.report.names import check_name


@pytest.mark.parametrize(
    ("what", "path"),
    [
        ("report", "run.html"),
        ("report", Path("A/Run.HTM")),
        ("trace", "run.v2.json"),
    ],
)
def test_names_of_their_kind(what, path):
    check_name(what, path)


@pytest.mark.parametrize(
    ("what", "path", "said"),
    [
        ("report", "x.csv", "report x.csv would be a .html file; give it that suffix"),
        ("report", "html", "report html would be a .html file; give it that suffix"),
        ("trace", "x.parquet.gz", "trace x.parquet.gz would be a .json file; give it that suffix"),
        ("trace", "x.json.gz", "trace x.json.gz would be a .json file; give it that suffix"),
        ("report", b"run.html", "report takes the path of a file, not bytes"),
        ("trace", 7, "trace takes the path of a file, not int"),
        (
            "report",
            "a\0.html",
            r"report takes the path of a file, but 'a\x00.html' holds a NUL character; remove it",
        ),
    ],
)
def test_names_of_other_kinds_are_refused(what, path, said):
    with pytest.raises(ArgumentError) as caught:
        check_name(what, path)
    assert str(caught.value) == said
