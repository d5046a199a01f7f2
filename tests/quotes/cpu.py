"""Quotes of the CPU sections of docs/speed.md."""

from __future__ import annotations

from quotes import Stated, Values, column, quotes, record

PAGE = "docs/speed.md"
RIVALS = ("evener", "GAP", "NetworKit", "igraph", "SciPy", "GraphBLAS")


def present(seconds: dict, *keys) -> Values:
    """Return the seconds of these keys, without keys that the record lacks."""
    return [seconds[key] for key in keys if key in seconds]


@quotes(PAGE, "Compared with common libraries, on a CPU")
def _() -> Values:
    seconds = column("cpu_rivals.json", "graph task contender")
    yield record("cpu_rivals.json")["graphs"]["rmat:20"]["stored edges"]
    for task in ("pagerank", "bfs", "wcc", "sssp", "betweenness"):
        yield from present(seconds, *(("rmat:20", task, rival) for rival in RIVALS))
    yield from (seconds["uniform:20", "pagerank", rival] for rival in ("GAP", "evener"))


@quotes(PAGE, "Communities, cores and triangles, on a CPU")
def _() -> Values:
    seconds = column("primitives_cpu.json", "task contender")
    yield Stated("7.6 million", "edges of R-MAT 18 without loops and copies")
    tasks = ("triangles", "clustering", "core_number", "scc", "louvain", "leiden", "label_propagation")
    for task in (*tasks, "closeness", "spanning_forest", "jaccard", "random_walks"):
        yield from present(seconds, *((task, rival) for rival in RIVALS))
    found = column("primitives_cpu.json", "task contender", "modularity")
    for task in ("louvain", "leiden"):
        ours = found[task, "evener"]
        assert all(abs(found[task, rival] - ours) < 0.001 for rival in ("NetworKit", "igraph"))
    yield Stated("0.001", "a bound, asserted here")


@quotes(PAGE, "Distance from the least work")
def _() -> Values:
    places = (("primitive_floors.json", "rmat:18"), ("primitive_floors_cuda.json", "rmat:23"))
    tasks = ("triangles", "clustering", "jaccard", "core_number", "coloring", "scc", "louvain", "leiden")
    for task in (*tasks, "label_propagation", "closeness", "random_walks", "spanning_forest"):
        for name, graph in places:
            for field in ("floor_seconds", "median_seconds", "times_floor"):
                yield column(name, "graph task", field)[graph, task]
    work = column("primitive_floors.json", "task", "work")
    yield Stated("659 million", "counted once on R-MAT 18, without a record")
    yield work["triangles"]["lookup"]
    yield Stated("59 %", "counted once on R-MAT 18, without a record")
    yield Stated("12 million", "counted once on R-MAT 18, without a record")
    yield work["closeness"]["word"]
    yield column("primitive_floors_cuda.json", "graph task", "phases")["rmat:23", "random_walks"]["walk"]


@quotes(PAGE, "Reading and building, on a CPU")
def _() -> Values:
    building, text = column("building.json", "contender"), column("text_input.json", "contender")
    generation, start = column("generation.json", "contender"), column("startup.json", "what")
    yield from present(building, *RIVALS)
    yield from (generation[f"{name}, graph"] for name in ("evener", "GAP", "NetworKit"))
    yield from present(text, *RIVALS)
    names = record("names_input.json")
    yield names["edges"]
    yield Stated("4.2 million", "the distinct names that the benchmark draws")
    for field in ("median_seconds", "median_cpu_seconds", "median_peak_bytes"):
        readers = column("names_input.json", "file contender", field)
        yield from (readers["text", contender] for contender in ("evener", "polars", "duckdb"))
    yield start["import evener"] - start["python itself"]
    yield start["first ever: evener run pagerank rmat:16"]
    yield start["first ever: evener run betweenness rmat:16"]
    yield start["all 5, sharing a cache"]
    yield start["the same again"]
    yield column("startup_wheel.json", "what", "median_cpu_seconds")["first run of pagerank from a wheel"]


@quotes(PAGE, "Compared with PySpark, as MapReduce")
def _() -> Values:
    rows = record("figures/s13_fig13.json")["rows"]
    yield from (row["edges"] for row in rows)
    yield from (row["spark_seconds"] for row in rows)
    for seconds, times in (("median_seconds", "over_spark"), ("fused_seconds", "fused_over_spark")):
        for row in rows:
            yield from (row[seconds], row[times])
    yield record("figures/s13_fig13.json")["paper"]
    for row in record("figures/s13_fig9.json")["rows"]:
        yield from (row[field] for field in ("naive", "evener", "gain", "paper"))


@quotes(PAGE, "Policies")
def _() -> Values:
    for figure, alpha in (("t13_fig9", 0.5), ("t13_fig15", 0.5), ("t13_fig19", 0.1), ("t13_fig15", 0.1)):
        found = column(f"figures/{figure}.json", "on policy alpha", "over_cpu")
        yield alpha
        yield from (found["cpu,cuda:0", policy, alpha] for policy in ("high", "random", "low"))
