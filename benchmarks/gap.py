"""Run the GAP reference code, as its own binaries on the same graph.

The graph is written as `.sg`/`.wsg`, so GAP has the same edges. GAP draws its sources itself. Here `-r` gives
the source, with one process for each, so all contenders use the same vertices. The first trial of a process
touches its memory for the first time and does not count. Delta for SSSP is 2, as in GAP's benchmark/bench.mk.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from pathlib import Path

_TRIAL = re.compile(r"^Trial Time:\s+([\d.]+)", re.MULTILINE)
_VERDICT = re.compile(r"^Verification:\s+(\w+)", re.MULTILINE)
_STEP = re.compile(r"^(Read|Generate|Build) Time:\s+([\d.]+)", re.MULTILINE)

TRIALS = 3
DELTA = 2


class Gap:
    """GAP's binaries on one graph file.

    Parameters
    ----------
    folder : path
        The folder of `bfs`, `pr`, `cc`, `sssp`, `bc` and `converter`.
    plain, weighted : path
        The graph as `.sg` and, for SSSP, `.wsg`.
    threads : int
        OMP_NUM_THREADS.
    """

    name = "GAP"

    def __init__(self, folder, plain, weighted, threads):
        self.folder = Path(folder)
        self.plain, self.weighted = plain, weighted
        self.threads = threads

    def bfs(self, source):
        return self._median("bfs", "-f", self.plain, "-r", source)

    def pagerank(self, iterations):
        return self._median("pr", "-f", self.plain, "-i", iterations, "-t", 0)

    def wcc(self):
        return self._median("cc", "-f", self.plain)

    def sssp(self, source):
        return self._median("sssp", "-f", self.weighted, "-r", source, "-d", DELTA)

    def triangles(self):
        return self._median("tc", "-f", self.plain)

    def betweenness(self, sources):
        return sum(self._median("bc", "-f", self.plain, "-r", source, "-i", 1) for source in sources)

    def verified(self, source):
        """Return whether GAP accepts its own answers: a run of each kernel with `-v`, without timing."""
        runs = {
            "bfs": ("bfs", "-f", self.plain, "-r", source),
            "wcc": ("cc", "-f", self.plain),
            "sssp": ("sssp", "-f", self.weighted, "-r", source, "-d", DELTA),
            "betweenness": ("bc", "-f", self.plain, "-r", source, "-i", 1),
            # GAP checks a converged run, with the tolerance and the iterations of its benchmark.
            "pagerank": ("pr", "-f", self.plain, "-i", 1000, "-t", 1e-4),
        }
        return {
            task: _VERDICT.findall(self.run(*run, "-n", 1, "-v")) == ["PASS"] for task, run in runs.items()
        }

    def converter_seconds(self, *arguments):
        """Return the seconds of each step of GAP's converter: "Read", "Generate" and "Build"."""
        said = self.run("converter", *arguments, "-b", os.devnull)
        return {step: float(seconds) for step, seconds in _STEP.findall(said)}

    def _median(self, *command):
        times = [float(t) for t in _TRIAL.findall(self.run(*command, "-n", TRIALS + 1))]
        if len(times) != TRIALS + 1:
            msg = f"GAP's {command[0]} reported {len(times)} trials, not {TRIALS + 1}"
            raise RuntimeError(msg)
        return statistics.median(times[1:])

    def run(self, kernel, *arguments):
        """Return the output of a binary."""
        command = [str(self.folder / kernel), *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout
