"""The documentation is correct: its Python code, commands, links and docstring examples work."""

from __future__ import annotations

import doctest
import gzip
import importlib
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

import evener as ev
from evener.cli import main
from evener.elements.cuda.discovery import gpus, missing
from evener.graph.formats.registry import all_formats
from support.kcore_example import load, register

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GPU = re.compile(r"\bcuda:(\d+)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Enter a folder with the input files of the pages, and register the example package."""
    monkeypatch.chdir(tmp_path)
    load()
    register(monkeypatch, {"kcore": "evener_kcore:SPEC"})
    edges = "# a path\n" + "".join(f"{i}\t{i + 1}\n" for i in range(20))
    Path("soc-Epinions1.txt.gz").write_bytes(gzip.compress(edges.encode()))
    ev.write(ev.Graph.from_edges(range(20), range(1, 21), weights=[1] * 20), "roads.gr")


def gpus_named(text):
    """Return the number of GPUs that a text needs."""
    return max((int(number) + 1 for number in GPU.findall(text)), default=0)


def run_blocks(page, capsys, *, gpus):
    """Run a page's Python blocks and commands, except those that need more than `gpus` GPUs."""
    names: dict[str, object] = {}
    for kind, block in BLOCK.findall(page.read_text()):
        if kind == "python":
            code = compile(block, name_of(page), "exec")
            lacks_polars = "import polars" in block and find_spec("polars") is None
            if gpus_named(block) <= gpus and not lacks_polars:
                exec(code, names)
            continue
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["evener"] and gpus_named(line) <= gpus:
                assert main(words[1:]) == 0, (line, capsys.readouterr().err)


def marked(page):
    """Return a page. The everyday command leaves out pages that compile many functions or start ranks."""
    slow = page.stem in ("own-operators", "your-own-operator", "vertex-programs", "mapreduce", "ranks")
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize("page", [marked(page) for page in PAGES if BLOCK.search(page.read_text())])
@pytest.mark.usefixtures("elsewhere")
def test_blocks_run(page, capsys):
    run_blocks(page, capsys, gpus=0)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(gpus_named(block) for _, block in BLOCK.findall(page.read_text()))],
    ids=name_of,
)
@pytest.mark.usefixtures("elsewhere")
def test_blocks_run_on_gpus(page, capsys):
    if missing():
        pytest.skip(f"no GPU can be used: {missing()}")
    run_blocks(page, capsys, gpus=gpus())


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def test_the_site_lists_every_page():
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")
    )


def test_the_table_of_formats_is_complete():
    page = (ROOT / "docs/reference/formats.md").read_text()
    rows = {
        row[0].strip(): row[1] for row in (line.split("|")[1:3] for line in page.splitlines() if "|" in line)
    }
    for kind in all_formats():
        assert re.findall(r"`(\.\w+)`", rows[kind.name]) == list(kind.suffixes)
        assert ("*" in rows[kind.name]) == (not kind.compressed)


def modules_with_examples():
    source = ROOT / "src"
    for path in sorted(source.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8") or path.parent.name == "algorithms":
            yield ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("module", list(modules_with_examples()))
@pytest.mark.usefixtures("elsewhere")
def test_examples_in_docstrings(module):
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0
