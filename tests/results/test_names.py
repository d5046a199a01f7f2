"""The file name of a report or a trace must have the right suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.errors import ArgumentError
from evener.results.result import check_name


@pytest.mark.parametrize(
    ("what", "path"),
    [
        ("report", "run.html"),
        ("report", Path("A/Run.HTM")),
        ("trace", "run.v2.json"),
    ],
)
def test_valid_names(what, path):
    check_name(what, path)


@pytest.mark.parametrize(
    ("what", "path", "message"),
    [
        ("report", "x.csv", "report: expected a name with the suffix .html, found x.csv"),
        ("report", "html", "report: expected a name with the suffix .html, found html"),
        ("trace", "x.parquet.gz", "trace: expected a name with the suffix .json, found x.parquet.gz"),
        ("trace", "x.json.gz", "trace: expected a name with the suffix .json, found x.json.gz"),
        ("report", b"run.html", "report: expected the path of a file, found bytes"),
        ("trace", 7, "trace: expected the path of a file, found int"),
        (
            "report",
            "a\0.html",
            r"report: expected the path of a file, found 'a\x00.html' with a NUL character; remove it",
        ),
    ],
)
def test_invalid_names(what, path, message):
    with pytest.raises(ArgumentError) as caught:
        check_name(what, path)
    assert str(caught.value) == message
