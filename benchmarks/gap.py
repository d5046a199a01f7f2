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
FEW_THREADS = 2
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
    quick : bool
        Whether a process has one timed trial only, and betweenness the first source only. With one or two
        threads, the first trial counts, because it takes long.
    """

    name = "GAP"

    def __init__(self, folder, plain, weighted, threads, *, quick=False):
        self.folder = Path(folder)
        self.quick, self.trials = quick, 1 if quick else TRIALS
        self.untimed = 0 if quick and threads <= FEW_THREADS else 1
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
        chosen = sources[:1] if self.quick else sources
        times = [self._median("bc", "-f", self.plain, "-r", source, "-i", 1) for source in chosen]
        return statistics.mean(times) * len(sources)

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
        trials = self.untimed + self.trials
        times = [float(t) for t in _TRIAL.findall(self.run(*command, "-n", trials))]
        if len(times) != trials:
            msg = f"GAP's {command[0]} reported {len(times)} trials, not {trials}"
            raise RuntimeError(msg)
        return statistics.median(times[self.untimed :])

    def run(self, kernel, *arguments):
        """Return the output of a binary."""
        command = [str(self.folder / kernel), *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout
