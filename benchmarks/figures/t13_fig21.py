"""Question: how do CPU and GPU together compare with CPUs alone on one graph (T13, figure 21).

The paper runs the Twitter network and compares with the best published results on four CPUs (4S). In BFS, 4S
is 60% faster than two CPUs (2S). One CPU and a GPU (1S1G) are 3.5 times as fast as 2S and 2.1 times as fast
as 4S. Two CPUs and two GPUs (2S2G) are over 5.5 times as fast as 4S. In betweenness, two CPUs with a GPU are
5 times as fast (section 7.2). The other bars are read from a plot.

Here: R-MAT, or the graph of --graph, over all of the CPU. There is no comparison with 4S; `cpu_rivals.py`
runs other programs on the CPU. 1S is half of the CPU's threads, 2S all of them, 1G one GPU.

    python benchmarks/figures/t13_fig21.py --graph twitter.txt.gz --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import configured
import output
import projections
import sweep

TITLE = "CPU and GPU together, compared with CPUs alone"
PAPER = "compared with two CPUs, BFS 1S1G 3.5x, BFS 2S2G over 8.8x, betweenness 2S1G 5x"
NEEDS = "a GPU"
KIND = "bars"
SHOWN = configured.SHOWN
panels = configured.panels
# Over two CPUs. The paper gives 2S2G over 4S, which is 60% faster than 2S.
_PAPER = {("bfs", "1S1G"): 3.5, ("bfs", "2S2G"): 5.5 * 1.6, ("betweenness", "2S1G"): 5.0}


def cases(options):
    return sweep.sizes(options, sweep.TASKS, [sweep.main_graph(options)])


def rows(runs, options):
    found = projections.configurations(runs, options, [sweep.main_graph(options)], sweep.TASKS)
    return [{**row, "paper": _PAPER.get((row["task"], row["configuration"]))} for row in found]


def here(rows):
    said = {}
    for row in rows:
        if row["configuration"] != "2S" and row["over_cpu"]:
            said.setdefault(row["task"], []).append(f"{row['configuration']} {row['over_cpu']:.2f}x")
    clauses = (f"{sweep.TITLES[task]} {', '.join(speeds)}" for task, speeds in said.items())
    return f"compared with all of the CPU, {'; '.join(clauses)}"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
