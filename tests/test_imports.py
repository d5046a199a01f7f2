"""Modules import only their own tier and lower tiers, and never in a cycle. Imports for types count."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import evener

HOME = Path(evener.__file__).parent
# Top tier first. A module may import modules of its own tier and of lower tiers.
TIERS = [
    {"__main__", "__init__"},
    {"testing"},
    {"cli"},
    {"algorithms"},
    {"programs", "primitives"},
    {"spec"},
    {"results"},
    {"planning"},
    {"engine"},
    {"partition"},
    {"graph"},
    {"elements"},
    {"kernels"},
    {"system"},
    {"errors"},
]
TIER = {name: tier for tier, names in enumerate(TIERS) for name in names}


def dotted(path):
    """Return the name of a module without the name of the package."""
    name = ".".join(path.relative_to(HOME).with_suffix("").parts)
    return name.removesuffix(".__init__")


MODULES = {dotted(path): path for path in HOME.rglob("*.py")}


def imported(source, modules):
    """Yield the modules that a file imports, also in functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "evener":
            parent = node.module.partition(".")[2]
            for alias in node.names:
                name = f"{parent}.{alias.name}".lstrip(".")
                yield name if name in modules else parent or "__init__"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "evener":
                    yield alias.name.partition(".")[2] or "__init__"


@pytest.fixture(scope="module")
def graph():
    """Return the modules that each module imports."""
    return {
        name: set(imported(path.read_text(encoding="utf-8"), MODULES)) - {name}
        for name, path in MODULES.items()
    }


def tier_of(name):
    return TIER[name.partition(".")[0]]


def cycles(graph):
    """Return the modules in import cycles. Modules without imports or importers are removed repeatedly."""
    left = {name: {one for one in targets if one in graph} for name, targets in graph.items()}
    while True:
        imported_by = {one for targets in left.values() for one in targets}
        ends = {name for name, targets in left.items() if not targets or name not in imported_by}
        if not ends:
            return left
        left = {name: targets - ends for name, targets in left.items() if name not in ends}


def test_modules_import_their_own_tier_and_lower_tiers(graph):
    upward = [
        (name, other) for name, names in graph.items() for other in names if tier_of(other) < tier_of(name)
    ]
    assert upward == []


def test_no_cycles(graph):
    assert cycles(graph) == {}


def test_every_module_can_be_imported_without_a_gpu():
    for name in MODULES.keys() - {"__main__", "__init__"}:
        import_module(f"evener.{name}")


def test_imports_are_found():
    source = (
        "from evener import errors\nfrom evener.graph.csr import CSR\nimport evener.engine.workspace as s\n"
        "def f():\n    import evener\nif TYPE_CHECKING:\n    from evener.cli import app\n"
    )
    assert set(imported(source, MODULES)) == {
        "errors",
        "graph.csr",
        "engine.workspace",
        "__init__",
        "cli.app",
    }


def test_cycles_are_found():
    assert set(cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()})) == {"b", "c"}


def test_files_are_short():
    sources = [path for suffix in ("py", "cu", "cuh") for path in HOME.rglob(f"*.{suffix}")]
    long = [path.name for path in sources if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []
