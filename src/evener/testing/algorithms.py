"""The contract of an algorithm: tests that a package inherits.

A subclass names the algorithm and gives the expected answer, from another implementation::

    class TestKCore(AlgorithmContract):
        name = "kcore"

        def expected(self, graph, arguments):
            return {"core": core_numbers_by_networkx(graph)}
"""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evener.cli import main
from evener.cli.options import PLACEMENT_OPTIONS
from evener.engine.checkpoints.request import Checkpoint
from evener.errors import VerificationError
from evener.graph.formats import write
from evener.partition.build import partition
from evener.spec.answer import Claim
from evener.spec.registry import find, names
from evener.spec.verify import verify
from evener.testing.graphs import SHAPES, build
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.results.result import Result
    from evener.spec.algorithm import AlgorithmSpec
    from evener.system.world import World

__all__ = ["AlgorithmContract"]

# Late ranks, and whether ranks send eagerly. Each half has each late rank once, and both ways to send.
_TIMINGS = [(0, False), (1, True), (2, False), (0, True), (1, False), (2, True)]


class _StopError(Exception):
    """Raised to stop a run."""


class AlgorithmContract:
    """Tests that every registered algorithm passes.

    Attributes
    ----------
    name : str
        The name under which the algorithm is registered.
    directed : tuple of bool
        The directions of the test graphs. Default: directed and undirected.
    simple : bool
        Whether self-loops and repeated edges are dropped from the test graphs.
    tolerance : float
        The relative error that real columns may have. Other columns are exact.
    kind : str
        The kind of element to test on: "cpu:1", or "cuda:0" in a test on a GPU.
    any_right : tuple of str
        Columns with several right answers, which only the verifier can check.
    """

    name: str
    directed: tuple[bool, ...] = (False, True)
    simple: bool = False
    tolerance: float = 1e-6
    kind: str = "cpu:1"
    any_right: tuple[str, ...] = ()

    def arguments(self, graph: Graph) -> dict[str, Any]:  # noqa: ARG002 - for subclasses
        """Return the arguments of a run on a graph. Default: none."""
        return {}

    def expected(self, graph: Graph, arguments: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        """Return the expected columns, by another implementation.

        Rows are in the order of the graph's ids, or as the algorithm defines if they are not vertices.
        """
        raise NotImplementedError

    # ---- helpers ----------------------------------------------------------------------------------

    @property
    def spec(self) -> AlgorithmSpec:
        """The registered spec."""
        return find(self.name)

    def graphs(self) -> list[Graph]:
        """Return the test graphs."""
        return [
            build(SHAPES[shape](), directed=directed, simple=self.simple)
            for shape, directed in product(SHAPES, self.directed)
        ]

    def check(self, result: Result, expected: Mapping[str, NDArray[Any]]) -> None:
        """Compare a result with the expected columns, and verify it."""
        assert list(result) == [column.name for column in self.spec.columns]
        self._compare(result, expected)
        if self.spec.verify is not None:
            verify(result)

    def _compare(
        self, result: Result | Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]
    ) -> None:
        """Compare columns with the expected columns."""
        for column in self.spec.columns:
            if column.name in self.any_right:
                continue
            if column.real:
                np.testing.assert_allclose(
                    result[column.name], expected[column.name], rtol=self.tolerance, atol=1e-12
                )
            else:
                np.testing.assert_array_equal(result[column.name], expected[column.name])

    # ---- the spec ------------------------------------------------------------------------------------

    def test_it_is_registered(self) -> None:
        """The registry finds the spec by its name."""
        assert self.name in names()
        assert self.spec.name == self.name

    def test_options_are_arguments_of_the_function(self) -> None:
        """Each option is a keyword argument. Other arguments are common to all algorithms or to searches."""
        taken = set(inspect.signature(self.spec.function()).parameters)
        search = any(option.name == "source" for option in self.spec.options)
        assert {option.name for option in self.spec.options} == taken - {
            "graph",
            "progress",
            *(["checkpoint"] if self.spec.checkpoints else []),
            *(["sources"] if search else []),
            *PLACEMENT_OPTIONS,
        }

    def test_state_is_at_least_the_host_state(self) -> None:
        """The upper bound of the state is at least the lower bound."""
        assert self.spec.state.vertex >= self.spec.host_state.vertex
        assert self.spec.state.mirror >= self.spec.host_state.mirror

    # ---- answers -----------------------------------------------------------------------------------

    def test_answers_do_not_depend_on_the_split(self) -> None:
        """One, two and four elements give the expected answer, on each graph with other policies."""
        for number, graph in enumerate(self.graphs()):
            arguments = self.arguments(graph)
            expected = self.expected(graph, arguments)
            for placed in placements(graph, self.kind, number):
                self.check(self.spec.function()(placed, **arguments), expected)

    def test_answers_do_not_depend_on_late_ranks(self) -> None:
        """The largest graphs on three ranks, each of which is late in turn, give the expected answer."""
        if not self.kind.startswith("cpu"):
            pytest.skip("ranks of this test have CPUs")
        largest = {graph.directed: graph for graph in sorted(self.graphs(), key=lambda graph: graph.m)}
        runs = len(_TIMINGS) // len(largest)
        for number, graph in enumerate(largest.values()):
            arguments = self.arguments(graph)
            expected = self.expected(graph, arguments)

            def run(world: World, graph: Graph = graph, arguments: dict[str, Any] = arguments) -> Result:
                placed = partition(graph, [self.kind] * (1 + world.rank % 2), policy="random")
                result: Result = self.spec.function()(placed, **arguments)
                for name in result:
                    result[name]  # ranks gather it together
                if self.spec.verifies_parts:
                    verify(result)
                return result

            for late, eager in _TIMINGS[number * runs : (number + 1) * runs]:
                of_ranks = run_ranks(3, run, late=late, eager=eager)
                if self.spec.row == "graph":
                    for result in of_ranks:
                        self._compare(result, expected)
                else:
                    rows = {name: np.concatenate([result[name] for result in of_ranks]) for name in expected}
                    self._compare(rows, expected)

    def test_a_run_continues_on_another_split(self, tmp_path: Path) -> None:
        """A run that stops on two elements continues from its last checkpoint on one, to the same answer."""
        if not self.spec.checkpoints:
            pytest.skip(f"{self.name} writes no checkpoints")
        graph = max(self.graphs(), key=lambda graph: graph.m)
        arguments, run = self.arguments(graph), self.spec.function()
        placed = partition(graph, [self.kind] * 2, policy="random")
        supersteps = run(placed, **arguments).timeline.supersteps

        def stop(progress: Progress, last: int) -> None:
            if progress.superstep == last:
                raise _StopError

        for last in range(1 + supersteps // 2, supersteps + 2):
            folder = tmp_path / str(last)
            checkpoint = Checkpoint(folder, every="1step")
            with suppress(_StopError):
                run(placed, **arguments, checkpoint=checkpoint, progress=partial(stop, last=last))
            if any(folder.glob("*.json")):
                break
        again = Checkpoint(folder, resume=True)
        self.check(
            run(partition(graph, self.kind), **arguments, checkpoint=again), self.expected(graph, arguments)
        )

    def test_the_verifier_rejects_a_wrong_answer(self) -> None:
        """The verifier finds a changed value in the first column, of numbers if there is one."""
        if self.spec.verify is None:
            pytest.skip(f"{self.name} has no verifier")
        graph = build(SHAPES["rmat"](), directed=self.directed[0], simple=self.simple)
        result = self.spec.function()(graph, **self.arguments(graph), on=self.kind)
        arrays = {name: result[name].copy() for name in result}
        columns = sorted(self.spec.columns, key=lambda column: column.names_vertices)
        changed = arrays[columns[0].name].reshape(-1)  # a view
        row = int(np.argmax(np.where(np.isfinite(changed), changed, -1)))
        changed[row] = changed[row] + 1 if changed.dtype.kind in "iu" else changed[row] * 2 + 1
        claim = Claim(self.name, graph, arrays, result.parameters, result.outcome)
        with pytest.raises(VerificationError):
            verify(claim)

    def test_the_timeline_counts_the_run(self) -> None:
        """A result has a timeline, its edges and a report."""
        graph = build(SHAPES["rmat"](), directed=self.directed[0], simple=self.simple)
        result = self.spec.function()(graph, **self.arguments(graph), on=[self.kind] * 2)
        assert result.timeline.supersteps > 0
        assert result.edges > 0
        assert self.name in result.explain()

    # ---- the command line ------------------------------------------------------------------------------

    def test_the_command_line_runs_and_verifies_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """``run``, ``verify`` and ``bench`` accept the algorithm, and ``run --help`` lists its options."""
        graph = build(SHAPES["rmat"](), directed=self.directed[0], simple=self.simple)
        container, table = str(tmp_path / "g.evg"), str(tmp_path / "answer.parquet")
        write(graph, container)
        words = [container, "--on", self.kind]
        assert (
            main(["run", self.name, *words, "--json", "-o", table, "--report", str(tmp_path / "r.html")]) == 0
        )
        printed = json.loads(capsys.readouterr().out)
        assert printed["algorithm"] == self.name
        if self.spec.verify is not None:
            assert main(["verify", self.name, container, table]) == 0
            assert main(["bench", self.name, *words, "--repeats", "1"]) == 0
        assert main(["run", self.name, "--help"]) == 0
        shown = capsys.readouterr().out
        for option in self.spec.options:
            flag = option.flags[0].split("/")[0] if option.flags else f"--{option.name.replace('_', '-')}"
            assert flag in shown
