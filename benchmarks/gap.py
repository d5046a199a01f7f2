"""The GAP reference code, run as its own binaries on our graph.

The graph is written as `.sg`/`.wsg`, so that GAP has the very same edges. GAP draws its sources by itself;
here each is given with `-r`, one process a source, so that all contenders search from the same vertices. The
first trial of a process touches its memory for the first time and is left out. Delta for SSSP is 2, as in
GAP's own benchmark/bench.mk for both kinds of graph.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from pathlib import Path

_TRIAL = re.compile(r"^Trial Time:\s+([\d.]+)", re.MULTILINE)
_VERDICT = re.compile(r"^Verification:\s+(\w+)", re.MULTILINE)
_BUILD = re.compile(r"^Build Time:\s+([\d.]+)", re.MULTILINE)

TRIALS = 3
DELTA = 2


class Gap:
    """GAP's binaries on one graph file.

    Parameters
    ----------
    folder : path
        Where `bfs`, `pr`, `cc`, `sssp`, `bc` and `converter` lie.
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

    def betweenness(self, sources):
        return sum(self._median("bc", "-f", self.plain, "-r", source, "-i", 1) for source in sources)

    def verified(self, source):
        """Whether GAP accepts its own answers: an untimed run of each kernel with `-v`."""
        runs = {
            "bfs": ("bfs", "-f", self.plain, "-r", source),
            "wcc": ("cc", "-f", self.plain),
            "sssp": ("sssp", "-f", self.weighted, "-r", source, "-d", DELTA),
            "betweenness": ("bc", "-f", self.plain, "-r", source, "-i", 1),
            # Its check is of a converged run; tolerance and iterations are those of its benchmark.
            "pagerank": ("pr", "-f", self.plain, "-i", 1000, "-t", 1e-4),
        }
        return {
            task: _VERDICT.findall(self.run(*run, "-n", 1, "-v")) == ["PASS"] for task, run in runs.items()
        }

    def build_seconds(self, scale, *, uniform=False):
        """Seconds to build a graph of this scale from edges in memory, as GAP's converter reports it."""
        said = self.run("converter", "-u" if uniform else "-g", scale, "-b", os.devnull)
        return float(_BUILD.findall(said)[0])

    def _median(self, *command):
        times = [float(t) for t in _TRIAL.findall(self.run(*command, "-n", TRIALS + 1))]
        if len(times) != TRIALS + 1:
            msg = f"GAP's {command[0]} reported {len(times)} trials, not {TRIALS + 1}"
            raise RuntimeError(msg)
        return statistics.median(times[1:])

    def run(self, kernel, *arguments):
        """Return what a binary prints."""
        command = [str(self.folder / kernel), *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout
