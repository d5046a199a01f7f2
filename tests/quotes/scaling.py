"""Quotes of docs/scaling.md and docs/policies.md."""

from __future__ import annotations

from statistics import median

from quotes import Stated, Values, column, quotes, record

FIVE = ("pagerank", "bfs", "wcc", "sssp", "betweenness")


@quotes("docs/scaling.md", "Threads")
def _() -> Values:
    yield record("cpu_threads.json")["graphs"]["rmat:22"]["stored edges"]
    times = column("cpu_threads.json", "task threads contender")
    for task in FIVE:
        yield from (times[task, threads, one] for threads in (2, 8, 16, 32) for one in ("evener", "GAP"))


@quotes("docs/scaling.md", "Measured")
def _() -> Values:
    yield Stated("1.00", "the definition of perfect weak scaling")
    yield from _scaled("scaling.json", (2, 3, 4), (2, 4))
    two = column("scaling.json", "kind task ranks on")
    yield from (two["strong", task, 2, "cpu:1"] / two["threads", task, 1, "cpu:2"] for task in FIVE)
    yield from _scaled("scaling_32_cores.json", (2, 4, 8), (2, 4, 8))


def _scaled(name: str, strong: tuple[int, ...], weak: tuple[int, ...]) -> Values:
    """Return the time of one rank over that of several, by task."""
    times = column(name, "kind task ranks on")
    for task in FIVE:
        for kind, counts in (("strong", strong), ("weak", weak)):
            one = times[kind, task, 1, "cpu:1"]
            yield from (one / times[kind, task, ranks, "cpu:1"] for ranks in counts)


@quotes("docs/scaling.md", "Simulated")
def _() -> Values:
    checks = [check for check in record("simulate.json")["checks"] if not check["fitted"]]
    found: dict[tuple[str, bool], list[float]] = {}
    for check in checks:
        found.setdefault((check["task"], "cuda" in check["what"]), []).append(check["error"])
    for errors in sorted(found.values(), key=lambda errors: median(map(abs, errors))):
        yield from (len(errors), median(map(abs, errors)), min(errors), max(errors))
    yield median(abs(check["error"]) for check in checks)
    yield Stated("34 billion", "both directions of 16 edges for each of 2^30 vertices")
    rows = record("simulate.json")["rows"]
    yield rows[0]["link"]["latency"]
    by_task = {task: [row for row in rows if row["task"] == task] for task in ("pagerank", "bfs")}
    for pair in zip(*by_task.values(), strict=True):
        for row in pair:
            yield from (row["seconds"], row["exchange_share"])


@quotes("docs/policies.md", "Time to choose the owners")
def _() -> Values:
    rows = [row for row in record("figures/g16_fig8.json")["rows"] if row["scale"] == 22]
    times = {(row["policy"], row["parts"]): row["median_seconds"] for row in rows}
    yield 2**22
    for policy in ("C-PG", "linear search", "DP-RH", "PD-HR", "lpt"):
        yield from (1e3 * times[policy, parts] for parts in (2, 8, 20, 128, 1024, 4096))
    yield times["DP-RH", 8] / times["C-PG", 8]
    eight = [row for row in rows if row["parts"] == 8]
    yield min(row["median_seconds"] for row in eight)
    yield max(row["median_seconds"] for row in eight)
    yield eight[0]["sort_seconds"]


@quotes("docs/policies.md", "Balance and crossing edges")
def _() -> Values:
    rows = {(row["graph"], row["policy"]): row for row in record("figures/g16_table1.json")["rows"]}
    generator, crawl = "rmat:18, numbers of the generator", "web-NotreDame.txt.gz"
    shown = ("C-PG", "C-R", "DP-OH", "DP-RH", "PD-HO", "PD-HR", "lpt", "mw", "ldg", "metis")
    for policy in shown:
        for graph in (generator, crawl):
            fields = ("gpu_edge_imbalance", "gpu_vertex_imbalance", "beta_aggregated")
            yield from (rows[graph, policy][field] for field in fields)
    yield Stated("200 times", "G16, section IV.D")
    yield rows[generator, "DP-OH"]["last_gpu_vertices_over_first"]
    yield rows["rmat:18", "DP-OH"]["gpu_vertex_imbalance"]
    yield rows[crawl, "metis"]["beta_aggregated"] / rows[crawl, "C-PG"]["beta_aggregated"]


@quotes("docs/policies.md", "Round robin and longest processing time first")
def _() -> Values:
    rows = {row["nodes"]: row for row in record("figures/s13_fig10.json")["rows"]}
    for nodes in (8, 32, 64, 128, 512, 1024, 2048, 4096):
        row = rows[nodes]
        yield from (nodes, row["round-robin edges"], row["lpt edges"], row["gain"])
        if row["paper"] is not None:
            yield row["paper"]
    yield from (rows[nodes]["round-robin edges"] for nodes in (4, 8))
