"""Pages, sources and help texts contain no listed phrase; pages match the source tree."""

from __future__ import annotations

import io
import re
import tokenize
from importlib import import_module
from pathlib import Path

import pytest

from evener.cli import main

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "evener"
DESIGN = ROOT / "docs" / "design.md"
# A space also matches a line break in a comment. NOBODY in capitals is a constant.
PHRASES = (
    r"foresee\w*",
    r"foresaw",
    r"beside(?! the (?:repository|checkout))",
    r"besides",
    r"nobody",
    r"whoever",
    r"thereby",
    r"anyhow",
    r"told",
    r"tells",
    r"whether (?:\w+ ){1,8}or not",
    r"go(?:es)? by",
    r"went by",
    r"comes? of",
    r"came of",
    r"as (?:it|they) lies?",
    r"mend(?:s|ed)?",
    r"the more [^.|]{1,40} the more",
    r"that is all there is",
    r"shares? out",
    r"gone through",
    r"at hand",
    r"on behalf of",
)
BREAK = r"\s+(?:(?:#|//|\*)\s+)?"
PHRASE = re.compile(rf"(?<![\w.`])(?:{'|'.join(PHRASES).replace(' ', BREAK)})(?![\w`(=}}\[])")
TEXTS = (".md", ".py", ".cu", ".cuh")
PLACES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples", "benchmarks", "src")
HELP = (["--help"], ["run", "--help"], ["run", "pagerank", "--help"], ["plan", "--help"])


def files():
    for place in (ROOT / name for name in PLACES):
        found = [place] if place.is_file() else sorted(place.rglob("*"))
        yield from (path for path in found if path.suffix in TEXTS)


def prose(path):
    """Return the text of a file, with spaces in place of the names in Python code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py" or PHRASE.search(text) is None:
        return text
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            row, begin, end = token.start[0] - 1, token.start[1], token.end[1]
            lines[row] = lines[row][:begin] + " " * (end - begin) + lines[row][end:]
    return "".join(lines)


def found(text, name):
    """Yield each listed phrase in a text, as ``name:line: phrase``."""
    text = re.sub(r"\b[A-Z](?=[a-z])", lambda letter: letter.group().lower(), text)
    for match in PHRASE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{line}: {' '.join(match.group().split())}"


def test_files_have_no_listed_phrase():
    hits = [hit for path in files() for hit in found(prose(path), path.relative_to(ROOT))]
    assert not hits, "\n".join(hits)


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_the_help_has_no_listed_phrase(words, capsys):
    assert main(words) == 0
    plain = re.sub(r"[│╭╮╰╯─\s]+", " ", capsys.readouterr().out)
    hits = list(found(plain, f"evener {' '.join(words)}"))
    assert not hits, "\n".join(hits)


def test_phrases_are_found():
    text = "# Nobody waits\n# for is at\n# hand; NOBODY and beside_others are code\n"
    assert list(found(text, "a.py")) == ["a.py:1: nobody", "a.py:2: at # hand"]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_the_map_of_the_design_page_lists_every_folder():
    (block,) = re.findall(
        r"^```text\n(.*?)^```$", DESIGN.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    listed = [line.split()[0].rstrip("/") for line in block.splitlines()]
    folders = sorted({str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")} - {"."})
    assert listed == folders


def test_the_walks_of_the_design_page_name_real_functions():
    named = re.findall(r"`([\w/]+\.py):(\w+)`", DESIGN.read_text(encoding="utf-8"))
    missing = []
    for path, name in named:
        file = (ROOT if path.startswith("tests/") else SOURCE) / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if not re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE):
            missing.append(f"{path}:{name}")
    assert named
    assert not missing


def test_the_page_about_the_papers_names_real_files():
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.*]+/[\w.*]*)`", text.partition("## ")[2])
    folders = [ROOT if path.startswith("benchmarks/") else SOURCE for path in named]
    assert named
    assert [path for folder, path in zip(folders, named, strict=True) if not any(folder.glob(path))] == []


@pytest.mark.parametrize("page", ["python", "algorithms"])
def test_the_reference_names_real_objects(page):
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: ([\w.]+)\.(\w+)$", text, re.MULTILINE)
    assert named
    for module, name in named:
        assert hasattr(import_module(module), name), f"{module}.{name}"


def test_the_page_of_device_headers_names_every_header_and_real_functions():
    text = (ROOT / "docs" / "maintain" / "device-headers.md").read_text(encoding="utf-8")
    table = text.split("| header |")[1].split("\n\n")[0]
    header, listed = "", []
    for row in table.splitlines()[2:]:
        first, given, users = row.split("|")[1:4]
        if first.strip():
            header = first.strip(" `")
            listed.append(header)
        source = (SOURCE / "kernels" / "cuda" / header).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(\w+)`", given) if not re.search(rf"\b{name}\b", source)] == []
        assert [path for path in re.findall(r"`([^`]+)`", users) if not (SOURCE / path).exists()] == []
    assert sorted(listed) == sorted(path.name for path in (SOURCE / "kernels" / "cuda").glob("*.cuh"))


def test_a_walk_has_at_most_eight_files():
    walks = DESIGN.read_text(encoding="utf-8").split("## Four walks")[1].split("\n## ")[0].split("### ")[1:]
    counts = [len(set(re.findall(r"`([\w/]+\.py):\w+`", walk))) for walk in walks]
    assert len(counts) == 4
    assert max(counts) <= 8
