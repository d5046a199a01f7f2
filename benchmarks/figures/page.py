"""The page of all figures, docs/figures.md, written from the recorded rows."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import reasons
import search_path  # noqa: F401 - first: it makes the folder above importable

import harness

PLACE = Path(__file__).resolve().parent.parent.parent / "docs" / "figures.md"
_IMAGES = "images/figures"
_HEAD = """# The papers' figures

This page compares figures of four papers with measurements of Evener. Gharaibeh, Beltrão Costa, Santos-
Neto and Ripeanu wrote the TOTEM papers, T12 and T13:

- **T12**: *A Yoke of Oxen and a Thousand Chickens for Heavy Lifting Graph Processing* (2012)
- **T13**: *Efficient Large-Scale Graph Processing on Hybrid CPU and GPU Systems* (2013)
- **G16**: Guo, Varbanescu, Epema and Iosup, *Design and Experimental Evaluation of Distributed Heterogeneous
  Graph-Processing Systems* (2016)
- **S13**: Shirahata, Sato, Suzumura and Matsuoka, *A Scalable Implementation of a MapReduce-based Graph
  Processing Algorithm for Large-scale Heterogeneous Supercomputers* (2013)

[How policies compare](policies.md) has figure 8 and table I of G16, and figure 10 of S13. [How fast it
is](speed.md) has figures 1, 9 and 13 of S13. [What the papers have](papers.md) lists their features.

α is the share of the edges on the CPU. β is the share of the edges that cross partitions. HIGH, RAND and LOW
are the policies `high`, `random` and `low`. Equation 4 is the cost model of T12. In 2S1G, S counts halves of
the CPU and G counts GPUs. The accelerator is the GPU. E counts millions of edges. "x" means "times as fast".
Rates count as in the paper: BFS of T13 and PageRank of S13 count each edge in one direction.

The scripts in `benchmarks/figures` write this page from the records in `benchmarks/results/figures`.
`benchmarks/README.md` describes the method. The records with two GPUs are older: BFS has become faster since.
"""


def write(names):
    """Write the page for these figures, in this order."""
    PLACE.write_text(text(names), encoding="utf-8")
    print(f"wrote docs/{PLACE.name}")


def text(names):
    """Return the page for these figures, in this order."""
    notes: dict[str, int] = {}
    sections = [_section(name, notes) for name in names]
    return "\n".join([_HEAD, *sections, *(f"[^{number}]: {note}" for note, number in notes.items()), ""])


def numbered(name):
    """`t12_fig7` as "T12, figure 7"."""
    paper, _, number = name.partition("_fig")
    return f"{paper.upper()}, figure {number}"


def _record(name):
    place = harness.RESULTS / "figures" / f"{name}.json"
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else None


def _section(name, notes):
    """Return the heading, plot and findings of a figure; `notes` numbers where it was measured."""
    figure, record = import_module(name), _record(name)
    title = f"{numbered(name)}: {figure.TITLE}"
    lines = [f"## {title}", ""]
    if record and _drawn(name):
        lines += [f"![{title}]({_IMAGES}/{name}.svg)", ""]
    lines.append(f"- **Paper**: {figure.PAPER}.")
    if record:
        number = notes.setdefault(_where(record), len(notes) + 1)
        found = figure.here(record["rows"]).split("; ")
        lines += [f"- **Evener**[^{number}]:", *(f"    - {clause}" for clause in found)]
        graphs = reasons.graphs_of(name, record)
        lines += [f"- **Graphs**: {graphs}."] if graphs else []
        reason = reasons.of(name, record["rows"])
        lines += [f"- **Why**: {reason}"] if reason else []
    else:
        lines.append("- **Evener**: not measured.")
    return "\n".join([*lines, ""])


def _where(record):
    """Return machine, date and command of a record."""
    machine = record["machine"]
    where = f"{machine['processor']}, {machine['threads used']} threads"
    where += f", {record['gpu']}" if record["gpu"] else ""
    part = "; some runs were left out" if record["left out"] else ""
    part += "; other programs used the machine" if record["load before"] > machine["cores"] else ""
    return f"{where}, {record['when'][:10]}: `{record['command']}`{part}."


def _drawn(name):
    return (PLACE.parent / _IMAGES / f"{name}.svg").exists()
