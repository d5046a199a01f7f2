"""Quotes of the GPU sections of docs/speed.md."""

from __future__ import annotations

from quotes import NOTES, Stated, Values, column, constant, quotes, record

PAGE = "docs/speed.md"
FIVE = ("pagerank", "bfs", "wcc", "sssp", "betweenness")
CUGRAPH = Stated("26.10", "the version of cuGraph behind the recorded cugraph_seconds")


@quotes(PAGE, "Compared with cuGraph, on a GPU")
def _() -> Values:
    names = [f"gpu_rivals_{name}.json" for name in ("bfs", "pagerank_wcc_betweenness", "sssp")]
    ours, theirs = (
        {key: value for name in names for key, value in column(name, "graph task", field).items()}
        for field in ("median_seconds", "cugraph_seconds")
    )
    graphs = ("rmat:22", "rmat:24", "rmat:26")
    yield from (record(names[0])["graphs"][graph]["stored edges"] for graph in graphs)
    for task in FIVE:
        for graph in graphs:
            yield from (ours[graph, task], theirs[graph, task])
    yield CUGRAPH
    placing = column("placing.json", "on graph")
    small = ("rmat:22", "uniform:22", "grid:3000x3000")
    for on in ("cuda:0", "cuda:0,cuda:1"):
        yield from (placing[on, graph] for graph in (*small, "rmat:24", "rmat:24,weights=1..255", "rmat:26"))
    start = column("startup_gpu.json", "what")
    yield from (start["the same again"], start["first ever: evener run pagerank rmat:20"])
    yield Stated("1.10 ms", "from a run without a record, as the footnote says")
    yield column("gpu_rivals_uniform_pagerank.json", "task", "gather_seconds")["pagerank"]


@quotes(PAGE, NOTES)
def _() -> Values:
    uniform = "gpu_rivals_uniform_pagerank.json"
    yield from (column(uniform, "task", field)["pagerank"] for field in ("gather_seconds", "median_seconds"))
    yield Stated("1.10 ms", "from a run without a record, as the footnote says")


@quotes(PAGE, "Communities, cores and triangles, on a GPU")
def _() -> Values:
    ours = column("primitives_gpu.json", "graph task")
    outcome = column("primitives_gpu.json", "graph task", "outcome")
    floors = column("primitive_floors_cuda.json", "graph task")
    cugraph = constant("primitives_gpu.py", "CUGRAPH")
    yield Stated("0.66", "the modularity of the planted communities, from tools/planted.py")
    yield record("cpu_rivals.json")["graphs"]["rmat:20"]["stored edges"]
    yield record("figures/s13_fig1_cuda.json")["rows"][0]["edges"]
    yield Stated("15 million", "the edges of tools/planted.py 20")
    tasks = ("triangles", "core_number", "louvain", "leiden", "spanning_forest", "jaccard")
    for task in (*tasks, "random_walks", "hits", "katz", "eigenvector"):
        for graph in ("rmat:20", "rmat:23", "planted_20"):
            seconds = ours.get((graph, task)) or (graph == "rmat:23" and floors.get((graph, task)))
            if seconds:
                yield from (seconds, cugraph[graph][task])
    yield CUGRAPH
    yield outcome["planted_20", "leiden"]["modularity"]
    yield from (Stated(text, "modularity of cuGraph's communities") for text in ("0.662", "0.664"))


@quotes(PAGE, "Several GPUs")
def _() -> Values:
    name = "several_gpus.json"
    seconds = column(name, "graph task gpus")
    kernels, outside = (column(name, "graph task gpus", field) for field in ("kernels", "outside"))
    for task in FIVE:
        for graph in ("rmat:24", "rmat:26"):
            one, two = seconds[graph, task, 1], seconds[graph, task, 2]
            yield from (one, two, one / two)
        yield from (kernels["rmat:26", task, 2], outside["rmat:26", task, 2])
    yield from (kernels["rmat:26", "wcc", gpus] for gpus in (2, 1))
    yield from _four()
    yield from _predicted()
    outside = column("several_gpus_4.json", "graph task gpus", "outside")
    yield from (outside["rmat:26", "bfs", gpus] for gpus in (4, 2))
    ranks = column("ranks_on_gpus.json", "task contender")
    for task in ("pagerank", "bfs", "wcc"):
        contenders = ("one GPU", "two GPUs", *(f"two ranks, {name}" for name in ("ipc", "nccl", "mpi")))
        yield from (ranks[task, contender] for contender in contenders)
    (largest,) = record("from_file.json")["rows"]
    yield from (largest["seconds"], largest["stages"]["place the graph"])
    rows = record("placing_27.json")["rows"]
    yield rows[0]["stored_edges"]
    yield from (row["median_seconds"] for row in rows)
    yield from (row["seconds"][0] for row in rows)


def _four() -> Values:
    """The values of the part about four GPUs."""
    name = "several_gpus_4.json"
    seconds, weak = column(name, "graph task gpus"), record(name)["weak"]
    (largest,) = record("from_file.json")["rows"]
    passes = {"pagerank": largest["supersteps"]["pagerank"] - 1}
    for task in FIVE:
        one, four = (seconds["rmat:26", task, gpus] for gpus in (1, 4))
        yield from (one, four, one / four, weak[task]["2"], weak[task]["4"])
        if task in largest["warm_seconds"]:
            yield largest["warm_seconds"][task] / passes.get(task, 1)
    yield largest["stored_edges"]


def _predicted() -> Values:
    fields = ("measured_seconds", "predicted_seconds", "error")
    found = [column("simulate_gpus.json", "graph task gpus", field) for field in fields]
    for task in FIVE:
        for graph, gpus in (("rmat:24", 2), ("rmat:26", 2), ("rmat:26", 4)):
            yield from (field[graph, task, gpus] for field in found)


@quotes(PAGE, "CPU and GPU together, on a graph that does not fit the GPU")
def _() -> Values:
    for fits in ("0.5", "0.25", "0.125"):
        rows = record(f"hybrid_pagerank_26_{fits}.json")["rows"]
        alone = [row["median_seconds"] for row in rows[:2]]
        best = min(rows, key=lambda row: row["median_seconds"] + row["automatic"])
        both = best["median_seconds"]
        yield from (*alone, both, best["alpha"], min(alone) / both)
    replays = record("planner_regret.json")["rows"]
    right = {row["sweep"].split()[3]: row["regrets"] for row in replays if _is_right(row)}
    for fits in ("0.5", "0.25", "0.125"):
        first, second, *later = right[fits]
        yield from (first, second, max(later))
    yield max(row["regrets"][0] for row in replays)
    yield max(max(row["regrets"][1:]) for row in replays)
    for name in ("hybrid_wcc_26_0.25.json", "hybrid_sssp_25_0.25.json"):
        for on in ("cuda:0", "cpu,cuda:0"):
            yield min(row["median_seconds"] for row in record(name)["rows"] if row["on"] == on)


def _is_right(replay: dict) -> bool:
    return replay["cpu_prior"] == replay["gpu_prior"] == 1.0


@quotes(PAGE, "The largest graph on one GPU")
def _() -> Values:
    search, pagerank = record("largest.json")["rows"]
    yield from (search["edges"], Stated("128 GiB", "the memory of the host, in words"))
    yield from (step["seconds"] for step in search["steps"][:2])
    yield from (search["median_seconds"], search["median_teps"])
    yield from (pagerank["median_seconds"], pagerank["edges_per_second"])
    yield search["t13_teps"]


@quotes(PAGE, "Your own operators, on a GPU")
def _() -> Values:
    for scale in (22, 24):
        for case in ("float32", "float64", "weights"):
            yield from _operators(f"own_operators_cuda_{scale}.json", f"{case}, rmat:{scale}")
    first = column("own_operators_cuda_22.json", "what")
    yield from (first["first use"], first["first use in a later process"], first["later use in the process"])
    ratios = record("own_operators_cpu_20.json")["ratios"]
    own = [ratio for name, ratio in ratios.items() if name.startswith("operators")]
    yield from (min(own), max(own), max(ratio for name, ratio in ratios.items() if name.startswith("vertex")))
    uses = column("own_operators_cpu_20.json", "what")
    yield from (uses["numbers, first use"], uses["fields, first use"])
    yield record("gpu_rivals_bfs.json")["graphs"]["rmat:22"]["stored edges"]
    yield from (first["mapreduce, combine"], first["mapreduce, reduce"])
    for row in record("figures/s13_fig1_cuda.json")["rows"][:2]:
        yield edges_of_s13(row["scale"]) / row["median_seconds"]
    yield record("figures/s13_fig1_cuda.json")["paper"]["ME/s on 768 GPUs, SCALE 30"] * 1e6


def edges_of_s13(scale: int) -> int:
    """Return the edges that S13 counts: each drawn edge once."""
    return 16 << scale


def _operators(name: str, what: str) -> Values:
    seconds = column(name, "what")
    built_in = seconds[f"{what}, built-in"]
    yield built_in
    for kind in ("operators", "vertex program"):
        if f"{what}, {kind}" in seconds:
            yield seconds[f"{what}, {kind}"]
            yield seconds[f"{what}, {kind}"] / built_in
