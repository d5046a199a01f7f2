"""Quotes of README.md, of the design and of the guides."""

from __future__ import annotations

from quotes import QUOTES, Stated, Values, column, quotes, record

NETWORKX = "docs/howto/from-networkx.md"


@quotes(NETWORKX, "Without changing code")
def _() -> Values:
    yield Stated("3.4", "the oldest NetworkX")
    for row in record("networkx_functions.json")["rows"]:
        yield from (row["networkx"], row["converting"], row["kept"], row["networkx"] / row["kept"])
    yield from (Stated(version, "a version of NetworkX") for version in ("3.4", "3.5", "3.7", "3.7"))


@quotes("docs/howto/checkpoints.md", "The folder")
def _() -> Values:
    overhead = column("checkpoint.json", "what", "overhead")
    yield from (overhead[f"checkpoints in /{folder}"] for folder in ("dev/shm", "tmp"))


@quotes("docs/howto/gpu.md", "Several GPUs")
def _() -> Values:
    seconds = column("several_gpus.json", "graph task gpus")
    for task in ("pagerank", "betweenness", "bfs", "sssp"):
        yield seconds["rmat:26", task, 1] / seconds["rmat:26", task, 2]


@quotes("docs/howto/gpu.md", "The largest graphs")
def _() -> Values:
    yield record("largest.json")["rows"][0]["edges"]


@quotes("docs/design.md", "Placing")
def _() -> Values:
    n, m, gpus = 2**29, 2**34, 4  # R-MAT 29, with all edges in both directions
    yield Stated("1 GB", "the buffer of drawn edges, a constant of the code")
    yield (4 * m + 4 * n) / gpus + 33 * 2**30 + 1e9
    yield 4 * m / gpus + 40 * n
    yield 8 * m / gpus + 20 * n
    yield 4 * m / gpus + 33 * n


@quotes("docs/design.md", "Policies")
def _() -> Values:
    rows = record("divisions.json")["rows"]
    own = {(row["parts"], row["division"]): row["microseconds"] for row in rows if row["graph"] == "rmat:20"}
    others = [(parts, way) for parts, way in own if way not in ("random", "contiguous")]
    gain = max(1 - own[key] / own[key[0], "random"] for key in others)
    slowest = min(
        row["vertices_per_second"]
        for row in record("figures/g16_fig8.json")["rows"]
        if row["policy"] == "C-PG" and row["scale"] == 22
    )
    yield Stated("7.2", "a section of T13")
    assert gain < 0.1, gain
    yield Stated("10 %", "a bound, asserted here")
    assert slowest > 50e6, slowest
    yield Stated("50 million", "a bound, asserted here")


# Figures that no benchmark measures: versions, settings and bounds of the code, examples, sizes of packages.
STATED = {
    ("README.md", "Install"): ("3.11",),
    ("README.md", "Documentation"): ("2.0",),
    ("docs/design.md", "`alpha=`: from a number to owners"): ("5 %", "95 %", "5 %", "1 %", "0.2", "0.8"),
    ("docs/design.md", "Groups of GPUs"): ("10 seconds", "15 minutes"),
    ("docs/howto/checkpoints.md", "Continue a run that stopped"): ("60 s",),
    ("docs/howto/cluster.md", "When a machine fails"): ("20 s", "22.05", "2026.8"),
    (NETWORKX, "Memory"): ("0.8 GB",),
    ("docs/howto/gpu-arrays.md", "When edges pass through the host"): ("8 million", "16 times"),
    ("docs/howto/gpu.md", "Install"): ("7.5", "270 MB", "700 MB"),
    ("docs/howto/gpu.md", "Measure r and alpha"): ("10 %", "50 %"),
    ("docs/howto/gpu.md", "Plans"): ("10 ms", "30 seconds"),
    ("docs/howto/gpu.md", "Troubleshooting"): ("10 seconds",),
    ("docs/howto/look-at-a-run.md", "Measure energy"): ("100 ms",),
    ("docs/howto/own-operators.md", "Eight algorithms"): ("15 %",),
    ("docs/howto/partition.md", "Choose a policy"): ("10 %",),
    ("docs/howto/ranks.md", "Errors"): ("20 s",),
    ("docs/howto/ranks.md", "No rank holds the whole graph"): ("1.5", "1.5"),
    ("docs/howto/verify.md", "Precision"): ("4 times",),
    ("docs/howto/verify.md", "On the command line"): ("0.1",),
    ("docs/reference/algorithms.md", "Betweenness"): ("128 MB", "0.1"),
    ("docs/reference/algorithms.md", "Random walks"): ("64 times",),
    ("docs/reference/cli.md", "Checkpoints of `run`"): ("60 s",),
    ("docs/reference/cli.md", "Command line"): ("30 s",),
    ("docs/reference/errors.md", "Memory limits"): ("16 MiB", "1 GiB", "10 MiB"),
    ("docs/reference/formats.md", "Formats"): ("99 %", "128 MiB"),
    ("docs/tutorial/your-own-operator.md", "The question"): ("0.9", "0.5", "0.45", "0.5", "0.8", "0.4"),
}


def _stated(texts: tuple[str, ...]) -> Values:
    return [Stated(text, "not measured") for text in texts]


QUOTES.update({place: (lambda texts=texts: _stated(texts)) for place, texts in STATED.items()})
