"""Each figure in the documentation is the rounded value of a record."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import quotes
from quotes import QUOTES, ROOT, Figure, Stated, agree, sections

for _module in pkgutil.iter_modules(quotes.__path__):
    importlib.import_module(f"quotes.{_module.name}")

# benchmarks/figures writes figures.md from its records; test_benchmarks.py compares them. The figures of
# docs/maintain are those of the commits that it names.
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if page.name != "figures.md" and page.parent.name != "maintain"
)
SHOWN = {(page, section) for page in PAGES for section, figures in sections(page).items() if figures}


def shown(value: float | Stated) -> str:
    return value.text if isinstance(value, Stated) else f"{value:.4g}"


@pytest.mark.parametrize(("page", "section"), sorted(SHOWN | set(QUOTES)))
def test_figures_are_those_of_records(page, section):
    figures = sections(page).get(section, [])
    values = list(QUOTES.get((page, section), list)())
    pairs = list(zip(figures, values, strict=False))
    wrong = [f"{' '.join(one)}: {shown(value)}" for one, value in pairs if not agree(one, value)]
    wrong += [f"{' '.join(one)}: no value" for one in figures[len(pairs) :]]
    wrong += [f"no figure: {shown(value)}" for value in values[len(pairs) :]]
    assert not wrong, f"{page}, {section}: expected the values of tests/quotes, found {wrong}"


def test_figures_are_found():
    text = "R-MAT 20 takes 13.9 ms, 1.02–1.06 times, -3%.\n| a | 2,220 |\n|---|---|\n| b | 5 | x 7 |"
    found = [("13.9", "ms"), ("1.02", ""), ("1.06", "times"), ("-3", "%"), ("5", "")]
    assert quotes._figures(text) == found


def test_figures_are_rounded_values():
    assert agree(Figure("13.9", "ms"), 0.01394)
    assert not agree(Figure("13.9", "ms"), 0.01396)
    assert agree(Figure("10,200", ""), 10_249)
    assert not agree(Figure("10,200", ""), 10_251)
    assert agree(Figure("-3", "%"), -0.031)
    assert not agree(Figure("3", "%"), -0.031)
