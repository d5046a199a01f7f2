"""Checkpoints of a loop: at the end of a step, each rank copies its state, and a thread writes the copy.

A loop calls `step` once in each iteration, with the arrays and numbers that the next iteration needs. In a
run that continues, the first call fills the arrays. A generation becomes valid in a later call, when all
ranks have written their shards. The loop goes on meanwhile, and waits only if the next checkpoint is due.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.checkpoints.fingerprint import fingerprint_of
from evener.engine.checkpoints.folder import CheckpointFolder, ShardWriter, shard_name
from evener.engine.checkpoints.manifest import Manifest, Shard
from evener.engine.checkpoints.request import Checkpoint
from evener.engine.checkpoints.saved import check_state, dtypes_of, open_newest, require
from evener.engine.checkpoints.state import dtype_of, restore, values_of
from evener.errors import ArgumentError, EvenerError, FileError
from evener.graph.checks import type_name
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.system.agreement import on_all_ranks
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from evener.engine.checkpoints.saved import Saved
    from evener.engine.checkpoints.state import StateArray
    from evener.engine.engine import Engine
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Checkpoints", "open_checkpoints"]


class Checkpoints:
    """The object for a run without checkpoints: `step` writes nothing and returns its scalars.

    Attributes
    ----------
    active : bool
        Whether checkpoints are requested. A driver then runs its steps one by one, where it can.
    restored : bool
        Whether the last call of `step` filled the arrays with those of a checkpoint.
    steps : int
        The steps before the last call of `step`, if `active`; also those of the run that continues.
    """

    active = False
    restored = False
    steps = 0

    def step(self, arrays: Mapping[str, StateArray], *scalars: Any) -> tuple[Any, ...]:  # noqa: ARG002 - see below
        """End a step of a loop: write a checkpoint if one is due, or continue from one.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        arrays : mapping of str to array
            The arrays that the next step needs. The values of owned vertices are kept.
        *scalars
            The numbers that the next step needs, equal on all ranks; also lists of numbers. A number stays a
            bool, an integer or a float in all steps.

        Returns
        -------
        tuple
            The scalars, or those of the checkpoint from which the run continues.

        Raises
        ------
        FormatError
            If the checkpoint has other arrays or scalars, or a value breaks a rule of its array.
        """
        return scalars

    def require(self, valid: Any, expected: str) -> None:
        """Raise FormatError unless a rule holds for the values that `step` has restored.

        This is a collective operation; all ranks must call it. A driver calls it if `restored` is true.
        """

    def has(self, name: str) -> bool:  # noqa: ARG002 - see below
        """Return whether the run continues from a checkpoint with an array of this name."""
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the last checkpoint, unless the run has failed."""


def open_checkpoints(
    engine: Engine,
    pg: PartitionedGraph,
    checkpoint: Checkpoint | None,
    algorithm: str,
    arguments: Mapping[str, Any],
) -> Checkpoints:
    """Return the checkpoints of a run, for a ``with`` statement.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    pg : PartitionedGraph
    checkpoint : Checkpoint or None
        As the caller of the algorithm gave it.
    algorithm : str
    arguments : mapping
        The arguments that the state depends on. A run with other arguments does not continue this one.

    Raises
    ------
    ArgumentError
        If the folder has checkpoints and the run does not continue them. If the checkpoints are of another
        graph, algorithm or arguments.
    FileError
        If the folder cannot be used, or the run is to continue and the folder has no checkpoint.
    FormatError
        If the run is to continue and no checkpoint in the folder is valid.
    """
    if checkpoint is None:
        return Checkpoints()
    if not isinstance(checkpoint, Checkpoint):
        msg = (
            f"checkpoint=: expected an evener.Checkpoint, found {type_name(checkpoint)}; write "
            'checkpoint=evener.Checkpoint("FOLDER")'
        )
        raise ArgumentError(msg)
    run = fingerprint_of(engine, pg.graph, pg.world, algorithm, arguments)
    return _WrittenCheckpoints(engine, pg, checkpoint, run)


class _Writing(NamedTuple):
    """A generation that threads of the ranks write; the manifest has no shards yet."""

    generation: int
    manifest: Manifest
    shard: Future[Shard]


class _WrittenCheckpoints(Checkpoints):
    """The checkpoints of a run that writes them."""

    active = True

    def __init__(
        self, engine: Engine, pg: PartitionedGraph, checkpoint: Checkpoint, run: dict[str, Any]
    ) -> None:
        self._engine, self._pg, self._world = engine, pg, pg.world
        self._world.recovery = ""
        self._checkpoint, self._run = checkpoint, run
        self._folder = CheckpointFolder(checkpoint.folder)
        self._source = checkpoint.folder  # the manifest from which the run has continued
        self.steps, self._last_step, self._last_time = -1, 0, perf_counter()
        self._writing: _Writing | None = None
        self._committing: Future[None] | None = None
        self._shards = ShardWriter(self._folder, self._world.rank, pg.owned_vertices())
        self._complete = 0  # generations of this run with all shards
        self._warned = False
        with ExitStack() as lock:
            on_all_ranks(self._world, lambda: self._create(lock))
            on_all_ranks(self._world, self._check_folder)
            self._generation, found = self._world.allgather(
                (self._folder.next_generation(), self._folder.generations())
            )[0]
            self._folder.first = self._generation
            self._saved = self._open(found) if checkpoint.resume else None
            if found and not checkpoint.resume:
                msg = (
                    f"checkpoint=: {checkpoint.folder} has the checkpoints of an earlier run; continue it "
                    "with resume=True, or name another folder"
                )
                raise ArgumentError(msg)
            self._lock = lock.pop_all()
        # One thread writes shards. On rank 0, another makes the generation before valid meanwhile.
        self._threads = ThreadPoolExecutor(2, "evener-checkpoint")

    def _create(self, lock: ExitStack) -> None:
        """Create and lock the folder; raise FileError if the folder of a run to continue is missing."""
        if self._world.rank != 0:
            return
        path = self._folder.path
        if self._checkpoint.resume and not path.exists():
            msg = (
                f"cannot resume: there is no folder {path}; check the name, or run without resume=True to "
                "begin again"
            )
            raise FileError(msg)
        try:
            path.mkdir(exist_ok=True)
            lock.enter_context(self._folder.lock())
        except FileNotFoundError as error:
            msg = f"cannot write checkpoints to {path}: there is no folder {path.parent}; create it"
            raise FileError(msg) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _check_folder(self) -> None:
        """Raise FileError if this rank cannot write to the folder."""
        name = shard_name(0, self._world.rank, "state")
        try:
            self._folder.write(name, [])
            (self._folder.path / name).unlink()
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> FileError:
        on = f" on rank {self._world.rank}" if self._world.size > 1 else ""
        return FileError(f"cannot write checkpoints to {self._folder.path}{on}: {_cause(error)}")

    # ---- continue ---------------------------------------------------------------------------------

    def _open(self, found: list[int]) -> Saved:
        """Return the newest valid generation of those found."""
        saved = open_newest(self._folder, found, self._world, self._pg.graph.n, self._run)
        self._note_recovery(valid=True)
        if self._world.rank == 0:
            self._folder.keep(saved.generation, saved.manifest)
            step = saved.manifest.step
            log.info("continuing from checkpoint %d, after %d steps", saved.generation, step)
        return saved

    def _fill(
        self, saved: Saved, arrays: Mapping[str, StateArray], scalars: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Fill arrays with those of a checkpoint, and return its scalars."""
        check_state(saved, arrays, scalars, self._world, self._pg.graph.n)
        bounds = block_bounds(self._pg.graph.n, self._world.size)
        own = BlockExchange(self._world, bounds, np.concatenate(self._pg.owned_vertices()))
        cuts = np.cumsum(self._engine.owned.parts)[:-1]
        for i, array in enumerate(arrays.values()):
            read = np.concatenate([np.empty(0, dtype_of(array)), *(values[i] for values in saved.arrays)])
            restore(self._engine, array, np.split(own.fetch(saved.exchange.deliver(read)), cuts))
        self._engine.recorder.count_earlier(saved.manifest.seconds)
        self.steps = self._last_step = saved.manifest.step
        self._last_time = perf_counter()
        self._source = saved.path
        return tuple(saved.manifest.scalars)

    def require(self, valid: Any, expected: str) -> None:
        """Raise FormatError unless a rule holds for the values that `step` has restored."""
        on_all_ranks(self._world, lambda: require(valid, expected, self._source))

    def has(self, name: str) -> bool:
        """Return whether the run continues from a checkpoint with an array of this name."""
        return self._saved is not None and name in dict(self._saved.manifest.arrays)

    # ---- write ------------------------------------------------------------------------------------

    def step(self, arrays: Mapping[str, StateArray], *scalars: Any) -> tuple[Any, ...]:
        """End a step of a loop: write a checkpoint if one is due, or continue from one."""
        if self._saved is not None:
            saved, self._saved, self.restored = self._saved, None, True
            return self._fill(saved, arrays, scalars)
        self.restored = False
        self.steps += 1
        due = self._checkpoint.is_due(self.steps - self._last_step, perf_counter() - self._last_time)
        facts = self._world.allgather(
            (self._outcome(), due, self._folder.oldest_kept, bool(self._world.recovery))
        )
        outcomes, due_on, oldest_kept, valid = zip(*facts, strict=True)
        self._note_recovery(valid=valid[0])
        self._finish(outcomes)
        if due_on[0]:
            self._finish_now()
            self._begin(arrays, scalars, oldest_kept[0])
        return scalars

    def _begin(self, arrays: Mapping[str, StateArray], scalars: tuple[Any, ...], oldest_kept: int) -> None:
        """Copy the state, and let a thread write the copy."""
        seconds = self._engine.recorder.seconds
        manifest = Manifest(self._run, self.steps, seconds, list(scalars), dtypes_of(arrays), [])
        shard: Future[Shard] = Future()
        try:
            copies = [part for array in arrays.values() for part in values_of(self._engine, array)]
            turn = self._complete % 2
            shard = self._threads.submit(
                self._shards.write, self._generation, copies, turn=turn, oldest_kept=oldest_kept
            )
        except MemoryError as error:
            shard.set_exception(error)
        self._writing = _Writing(self._generation, manifest, shard)
        self._generation += 1
        self._last_step, self._last_time = self.steps, perf_counter()

    def _outcome(self) -> Shard | str | None:
        """Return the shard that this rank has written, or its error; None if there is none yet."""
        if self._writing is None or not self._writing.shard.done():
            return None
        error = self._writing.shard.exception()
        if error is None:
            return self._writing.shard.result()
        if not isinstance(error, OSError | MemoryError):
            raise error
        return _cause(error)

    def _finish_now(self) -> None:
        """Wait until all ranks have written their shards, and make the generation valid."""
        if self._writing is not None:
            self._writing.shard.exception()  # waits
            self._finish(tuple(self._world.allgather(self._outcome())))

    def _finish(self, outcomes: tuple[Shard | str | None, ...]) -> None:
        """Make the generation valid if all ranks have written their shards."""
        if self._writing is None or None in outcomes:
            return
        writing, self._writing = self._writing, None
        error = next((outcome for outcome in outcomes if isinstance(outcome, str)), None)
        if error is not None:
            self._shards.remove(writing.generation)
            self._warn(error)
            return
        self._complete += 1
        manifest = writing.manifest._replace(shards=[one for one in outcomes if isinstance(one, Shard)])
        if self._world.rank == 0:
            self._finish_commit()
            self._committing = self._threads.submit(self._commit, writing.generation, manifest)

    def _note_recovery(self, *, valid: bool) -> None:
        """Note the command that continues the run, if rank 0 has a valid checkpoint."""
        if valid:
            self._world.recovery = self._checkpoint.command

    def _finish_commit(self) -> None:
        """Wait until the last manifest is written."""
        if self._committing is not None:
            self._committing.result()

    def _commit(self, generation: int, manifest: Manifest) -> None:
        """Make a generation valid, in a thread of rank 0."""
        try:
            self._folder.commit(generation, manifest)
        except (OSError, EvenerError) as error:
            self._warn(_cause(error))
        else:
            self._note_recovery(valid=True)

    def _warn(self, cause: str) -> None:
        """Warn once that a checkpoint could not be written."""
        if self._world.rank == 0 and not self._warned:
            log.warning(
                "a checkpoint cannot be written to %s: %s; the run goes on; earlier checkpoints stay "
                "valid", self._folder.path, cause,
            )  # fmt: skip
        self._warned = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the last checkpoint, unless the run has failed."""
        with self._lock, self._threads:
            if kind is None:
                self._finish_now()
                self._finish_commit()
                self._note_recovery(valid=self._world.allgather(bool(self._world.recovery))[0])
                if self._folder.oldest_kept:  # only rank 0 keeps generations
                    self._folder.remove_unused(self._generation)


def _cause(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.lower() or "not enough memory"
