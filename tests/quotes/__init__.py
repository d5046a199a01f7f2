"""The figures that the documentation quotes, and the values of the records behind them.

Each module maps sections of pages to values, in the order in which a section shows its figures. A figure is a
number with a unit, a number with a decimal point, or a table cell that is a number. To quote a new figure,
yield its value from the record in `benchmarks/results`, in seconds, bytes or as a plain ratio.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"

_RATIOS = {"": 1, "×": 1, "times": 1, "%": 0.01, "million": 1e6, "billion": 1e9}
_TIMES = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "seconds": 1, "minutes": 60}
_BYTES = {"MB": 1e6, "GB": 1e9, "MiB": 2**20, "GiB": 2**30}
SCALES = _RATIOS | _TIMES | _BYTES
_MINUS = "\N{MINUS SIGN}"
_NUMBER = rf"(?<![\w.,^])[{_MINUS}+-]?\d[\d,]*(?:\.\d+)?"
_UNIT = "|".join(sorted(filter(None, SCALES), key=len, reverse=True))
_FIGURE = re.compile(rf"({_NUMBER})(?:\s?({_UNIT}))?(?![\w])(?!\.\d)")
_CELL = re.compile(rf"({_NUMBER})\s?({_UNIT}|)(?:\[\^\w+\])?")
_BLOCK = re.compile(r"^```.*?^```|<!--.*?-->", re.MULTILINE | re.DOTALL)
_CODE_OR_LINK = re.compile(r"`[^`\n]*`|\]\([^)]*\)")
_NOTE = re.compile(r"^\[\^\w+\]: .*(?:\n {4}.*)*", re.MULTILINE)
NOTES = "footnotes"


class Figure(NamedTuple):
    number: str
    unit: str


class Stated(NamedTuple):
    """A figure without a record, and the reason."""

    text: str
    reason: str


Values = Iterable[float | Stated]
QUOTES: dict[tuple[str, str], Callable[[], Values]] = {}


def quotes(page: str, section: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Register the values of a page's section."""

    def register(values: Callable[[], Values]) -> Callable[[], Values]:
        assert (page, section) not in QUOTES
        QUOTES[page, section] = values
        return values

    return register


@cache
def record(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def column(name: str, keys: str, field: str = "median_seconds") -> dict[Any, Any]:
    """Return a field of a record's rows by the fields that identify a row."""
    fields = keys.split()
    rows = {tuple(row.get(key) for key in fields): row.get(field) for row in record(name)["rows"]}
    return rows if len(fields) > 1 else {key: value for (key,), value in rows.items()}


def constant(benchmark: str, name: str) -> Any:
    """Return a constant of a benchmark, such as the times of a rival that was run elsewhere."""
    for line in ast.parse((RESULTS.parent / benchmark).read_text(encoding="utf-8")).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == name:
            return ast.literal_eval(line.value)
    raise KeyError(name)


def sections(page: str) -> dict[str, list[Figure]]:
    """Return the figures of each section of a page, and of its footnotes."""
    text = _BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
    found = {NOTES: _figures("\n".join(_NOTE.findall(text)))}
    _, *rest = re.split(r"^#+ (.*)\n", _NOTE.sub("", text), flags=re.MULTILINE)
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        found[heading] = found.get(heading, []) + _figures(body)
    return found


def _figures(text: str) -> list[Figure]:
    lines = _CODE_OR_LINK.sub("", text).splitlines()
    found: list[Figure] = []
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if line.startswith("|") and not below.startswith("|--"):
            found += (figure for cell in line.split("|")[2:] for figure in _of_cell(cell.strip()))
        elif not line.startswith("|"):
            found += _in_text(line)
    return found


def _of_cell(cell: str) -> list[Figure]:
    whole = _CELL.fullmatch(cell)
    return [Figure(*whole.groups())] if whole else list(_in_text(cell))


def _in_text(text: str) -> Iterator[Figure]:
    return (Figure(*found) for found in _FIGURE.findall(text) if found[1] or "." in found[0])


def agree(figure: Figure, value: float | Stated) -> bool:
    """Return whether a value, rounded as the figure is, gives the figure."""
    number = figure.number.replace(",", "").replace(_MINUS, "-").lstrip("+")
    if isinstance(value, Stated):
        return value.text == f"{figure.number} {figure.unit}".strip()
    exact = value / SCALES[figure.unit]
    digits = len(number.partition(".")[2])
    three = abs(exact) >= 1000 and number == f"{float(f'{exact:.3g}'):.0f}"
    return three or abs(float(number) - exact) <= 0.5 * 10**-digits * (1 + 1e-9)
