"""Question: what do the figures of T12 and T13 look like on this machine.

All of them in one process: a graph is made once, and a placement and a run that several figures show take
place once, for most figures are views of one sweep over alpha, policy and algorithm. `--budget` ends it in
time: placements that are then still to come are left out, and the records say so.

    python benchmarks/figures/all.py --scale 24 --on cpu,cuda:0 --budget 400
    python benchmarks/figures/all.py --scale 14 --on cpu:1,cpu:1 --only t12_fig7 t13_fig9 --no-record
    python benchmarks/figures/all.py --again

The last makes all figures anew, plots and docs/figures.md included, from the runs recorded last in
results/figures/runs.json: that file is all that has to come back from a machine with a GPU. The status is 2
if a figure was asked for that these elements cannot show, and 1 if a run failed or its answer was wrong.
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
