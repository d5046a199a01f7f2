"""Question: what do the figures of T12 and T13 look like on this machine.

One process makes all figures. Most figures show parts of one sweep over alpha, policy and algorithm, so each
graph, placement and run is made once. After `--budget` seconds no new placement starts, and the records list
what was left out.

    python benchmarks/figures/all.py --scale 24 --on cpu,cuda:0 --budget 400
    python benchmarks/figures/all.py --scale 14 --on cpu:1,cpu:1 --only t12_fig7 t13_fig9 --no-record
    python benchmarks/figures/all.py --again

The last command makes all figures, plots and docs/figures.md from results/figures/runs.json. Copy only that
file from a machine with a GPU. The exit status is 1 if a run failed or an answer was wrong. It is 2 if these
elements cannot show a figure that you name.
"""

from __future__ import annotations

import output


def main():
    options = output.options_of_all()
    if options.again:
        output.again(options)
    else:
        output.produce(output.names_of(options), options, keep_runs=not options.only)


if __name__ == "__main__":
    main()
