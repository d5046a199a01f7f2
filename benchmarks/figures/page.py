"""The page of all figures, docs/figures.md, written from the records so that it says what they say."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import beside  # noqa: F401 - first, so that the others are found

import harness

PLACE = Path(__file__).resolve().parent.parent.parent / "docs" / "figures.md"
_IMAGES = "images/figures"
_HEAD = """# The papers' figures

What TOTEM's papers show in their figures, and what the same measurement gives here. T12 is Gharaibeh,
Beltrão Costa, Santos-Neto and Ripeanu: *A Yoke of Oxen and a Thousand Chickens for Heavy Lifting Graph
Processing* (2012), T13 is *Efficient Large-Scale Graph Processing on Hybrid CPU and GPU Systems* (2013). α is
the share of the edges on the CPU, β the share that crosses; HIGH, RAND and LOW are the policies `high`,
`random` and `low`.

Where the command names two GPUs, searches, also those on one, and Evener's model of them are from before GPUs
kept the first edges of rows that lie in the host's memory, and before a CPU's rows began with hubs.

This page is written, by the scripts that make the figures, from the records in `benchmarks/results/figures`.
What has no record has not been measured. How times are taken is told in `benchmarks/README.md`.
"""


def write(names):
    """Write the page for these figures, in this order."""
    PLACE.write_text(text(names), encoding="utf-8")
    print(f"wrote docs/{PLACE.name}")


def text(names):
    records = {name: _record(name) for name in names}
    rows = ["| figure | the paper | here |", "|---|---|---|"]
    for name, record in records.items():
        title, paper, here = _said(name, record)
        link = (
            f"[{numbered(name)}](#{name.replace('_', '-')}): {title}"
            if record
            else f"{numbered(name)}: {title}"
        )
        rows.append(f"| {link} | {paper} | {here} |")
    sections = [_section(name, record) for name, record in records.items() if record]
    return "\n".join([_HEAD, *rows, "", *sections])


def numbered(name):
    """`t12_fig7` as "T12, figure 7"."""
    paper, _, number = name.partition("_fig")
    return f"{paper.upper()}, figure {number}"


def _record(name):
    place = harness.RESULTS / "figures" / f"{name}.json"
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else None


def _said(name, record):
    figure = import_module(name)
    if record is None:
        return figure.TITLE, figure.PAPER, "not measured"
    return record["title"], record["paper"], record["here"]


def _section(name, record):
    """A figure's heading, plot, sentence, and where it was measured."""
    title = f"{numbered(name)}: {record['title']}"
    image = f"![{title}]({_IMAGES}/{name}.svg)\n" if _drawn(name) else ""
    machine = record["machine"]
    where = f"{machine['processor']}, {machine['threads used']} threads"
    where += f", {record['gpu']}" if record["gpu"] else ""
    part = "; some runs were left out" if record["left out"] else ""
    return (
        f'<a id="{name.replace("_", "-")}"></a>\n\n## {title}\n\n{image}\n'
        f"The paper: {record['paper']}. Here: {record['here']}.\n\n"
        f"{where}, {record['when'][:10]}: `{record['command']}`{part}.\n"
    )


def _drawn(name):
    return (PLACE.parent / _IMAGES / f"{name}.svg").exists()
