"""Imports go one way: what stands below knows nothing of what stands above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evener

HOME = Path(evener.__file__).parent
# From the top down; those on one line may know each other.
TIERS = [
    {"cli"},
    {"auto"},
    {"profile"},
    {"link", "algorithms"},
    {"engine"},
    {"state", "exchange", "planning"},
    {"partition"},
    {"formats"},
    {"graph"},
    {"build"},
    {"elements", "kernels", "errors"},
]
TIER = {name: tier for tier, names in enumerate(TIERS) for name in names}
FILES = [path for path in HOME.rglob("*.py") if path.relative_to(HOME).parts[0].removesuffix(".py") in TIER]


def imported(body):
    """The parts of the package that are imported as a file is, not by functions, nor for types alone."""
    for one in body:
        if isinstance(one, ast.ImportFrom) and one.module:
            names = (
                [one.module] if "." in one.module else [f"{one.module}.{alias.name}" for alias in one.names]
            )
            yield from (name.split(".")[1] for name in names if name.startswith("evener."))
        elif isinstance(one, ast.Import):
            yield from (alias.name.split(".")[1] for alias in one.names if alias.name.startswith("evener."))
        elif isinstance(one, ast.If) and ast.unparse(one.test) != "TYPE_CHECKING":
            yield from imported(one.body + one.orelse)
        elif isinstance(one, ast.Try | ast.With):
            yield from imported(one.body)


def reached(path):
    """The parts that a file imports, and those that parts in no tier import for it."""
    found, left = set(), {path}
    while left:
        names = {name for one in left for name in imported(ast.parse(one.read_text()).body)} - found
        found |= names
        left = {one for name in names - set(TIER) for one in files_of(name)}
    return found


def files_of(name):
    return [HOME / f"{name}.py"] if (HOME / f"{name}.py").exists() else list((HOME / name).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_nothing_below_knows_what_is_above(path):
    own = path.relative_to(HOME).parts[0].removesuffix(".py")
    above = {name for name in reached(path) if TIER.get(name, len(TIERS)) < TIER[own]}
    assert not above


def test_what_is_in_no_tier_is_seen_through(tmp_path):
    """Verifying takes algorithms, and so would whatever took that."""
    path = tmp_path / "one.py"
    path.write_text("from evener import verify\n")
    assert "verify" not in TIER
    assert {"verify", "algorithms"} <= reached(path)


def test_imports_are_found():
    guarded = "if TYPE_CHECKING:\n    from evener.cli import x\n"
    source = f"from evener import build\nfrom evener.graph import Graph\nimport evener.state as s\n{guarded}"
    assert list(imported(ast.parse(source).body)) == ["build", "graph", "state"]
    assert {path.relative_to(HOME).parts[0].removesuffix(".py") for path in FILES} == set(TIER)
