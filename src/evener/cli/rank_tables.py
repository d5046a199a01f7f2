"""Tables of the ranks of an MPI job: their elements, and the routes between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.cli.output import say
from evener.cli.render import as_json as as_json_text
from evener.cli.render import columns
from evener.results.report.units import seconds_text
from evener.system.agreement import collective
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evener.system.probe import RankRoute
    from evener.system.world import World

__all__ = ["show_ranks"]


@collective(own=("world",), name="evener devices")
def show_ranks(world: World, *, as_json: bool) -> None:
    """Print the elements of each rank, and the routes between ranks."""
    from evener.elements import parse_elements, usable_cores
    from evener.elements.cuda.discovery import all_gpus
    from evener.engine.exchange.probe import measure_gpu_routes
    from evener.system import memory
    from evener.system.probe import measure_routes

    usable = [gpu for gpu in all_gpus() if not gpu.problem]
    own = [("cpu", usable_cores(), memory.available()), *((gpu.element, 1, gpu.free_bytes) for gpu in usable)]
    of_ranks = world.allgather((world.host, own))
    routes = measure_routes(world)
    gpu_routes = measure_gpu_routes(world, parse_elements("cuda:local")[0] if usable else None)
    rows = [(rank, host, *element) for rank, (host, found) in enumerate(of_ranks) for element in found]
    if as_json:
        heads = ("rank", "host", "name", "threads", "available_bytes")
        elements = [dict(zip(heads, row, strict=True)) for row in rows]
        of_hosts, of_gpus = ([route._asdict() for route in found] for found in (routes, gpu_routes))
        say(as_json_text({"elements": elements, "routes": of_hosts, "gpu_routes": of_gpus}))
        return
    say(_elements(rows))
    say()
    say(_routes(routes, "ranks"))
    if gpu_routes:
        say()
        say(_routes(gpu_routes, "GPUs of ranks"))


def _elements(rows: Iterable[tuple[int, str, str, int, int | None]]) -> str:
    """Return a table of the elements of ranks: rank, machine, element, threads, free memory."""
    heads = ("rank", "machine", "element", "threads", "free memory")
    return columns(
        heads,
        [(*row[:4], "-" if row[4] is None else format_bytes(row[4])) for row in rows],
        left=3,
    )


def _routes(found: Sequence[RankRoute], title: str) -> str:
    """Return a table with a row and a column for each rank: transport, latency and bandwidth."""
    cells = {
        pair: f"{one.transport}, {seconds_text(one.latency)}, {format_bytes(int(one.bandwidth))}/s"
        for one in found
        for pair in ((one.first, one.second), (one.second, one.first))
    }
    known = range(1 + max(rank for pair in cells for rank in pair))
    rows = [(f"rank {a}", *(cells.get((a, b), "-") for b in known)) for a in known]
    return columns((title, *(f"rank {rank}" for rank in known)), rows, left=1)
