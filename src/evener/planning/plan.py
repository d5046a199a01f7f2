"""Plan: the elements, policy and share of the edges that are predicted to finish a run first."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.graph.views import html_table
from evener.partition.estimate import estimate_shares
from evener.partition.policy import PLANNED, find_policy
from evener.partition.sizes import ElementShare
from evener.system.html import escape
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evener.elements import Element
    from evener.partition.estimate import GraphSizes
    from evener.partition.partitioned import PartitionedGraph
    from evener.partition.placement import Placement
    from evener.planning.cost_model import CostModel
    from evener.planning.prediction import Prediction
    from evener.planning.prior import Workload

__all__ = ["Plan", "choose"]

# Smallest predicted speed-up for which more elements are used.
_GAIN_OF_MORE_ELEMENTS = 1.03
# Hundredths of the edges on the CPU side that are tried first, and the range of the second search.
_COARSE, _FINE = range(5, 100, 5), 4


@dataclass(frozen=True, slots=True)
class Plan:
    """A placement and the prediction of a run on it.

    Attributes
    ----------
    algorithm : str
    unit : str
        Name of a pass: "an iteration", "a run from one source".
    passes : float
        Passes that are predicted.
    on : tuple of str
        The elements, in the form that `partition` accepts.
    policy : str
    alpha : float or None
        The share of the stored edges on the CPU side that `partition` gets; None if elements divide the edges
        in proportion to their threads.
    shares : tuple of ElementShare
        Vertices, mirrors and edges of each element.
    nbytes : tuple of int
        Bytes of each share on its element.
    prediction : Prediction
    alternatives : dict of str to float
        Predicted seconds of each kind of placement that fits: "CPU alone", "GPU alone", "several GPUs",
        "CPU and GPU".
    infeasible : dict of str to str
        Why each of the other kinds does not fit.
    model : CostModel
        The model behind the prediction. It also predicts runs on the actual partitions.
    faster_but_unsafe : str or None
        A kind with a slightly lower predicted time that the plan does not choose. It has more elements, or
        is slower if its elements take longer by their margins.
    """

    algorithm: str
    unit: str
    passes: float
    on: tuple[str, ...]
    policy: str
    alpha: float | None
    shares: tuple[ElementShare, ...]
    nbytes: tuple[int, ...]
    prediction: Prediction
    alternatives: dict[str, float]
    infeasible: dict[str, str]
    model: CostModel = field(repr=False, compare=False)
    faster_but_unsafe: str | None = None

    def __repr__(self) -> str:
        placement = f"{', '.join(self.on)}; policy {self.policy}"
        if self.alpha is not None:
            placement += f", alpha {self.cpu_share:.3g}"
        predicted = f"predicted {self.prediction.seconds:.3g} s for {self.unit}"
        return f"<Plan of {self.algorithm} on {placement}; {predicted}>"

    def _repr_html_(self) -> str:
        """Return the predicted time and a table of the shares, for notebooks."""
        rows = [
            (share.element, f"{share.sizes.edges:,}", f"{share.sizes.vertices:,}", format_bytes(nbytes))
            for share, nbytes in zip(self.shares, self.nbytes, strict=True)
        ]
        return f"<p>{escape(repr(self))}</p>{html_table(('element', 'edges', 'vertices', 'memory'), rows)}"

    @property
    def cpu_share(self) -> float:
        """Predicted share of the stored edges on the CPU side; without CPUs or GPUs, on the first element."""
        on_cpu = [share.kind == "cpu" for share in self.shares]
        mixed = any(on_cpu) and not all(on_cpu)
        edges = [share.sizes.edges for share in self.shares]
        own = sum(count for count, cpu in zip(edges, on_cpu, strict=True) if cpu) if mixed else edges[0]
        return own / sum(edges) if sum(edges) else 0.0

    def predict(self, placed: PartitionedGraph, passes: float) -> Prediction:
        """Return the prediction of a run on a graph that is placed by this plan."""
        prediction = self.model.predict(ElementShare.all_of(placed), passes=passes)
        return prediction.with_alternatives(self.alternatives, passes / self.passes if self.passes else 0.0)

    @property
    def no_gpu_reason(self) -> str | None:
        """Why no GPU holds any share of the graph, if none has room; else None."""
        reasons = [why for kind, why in self.infeasible.items() if "GPU" in kind]
        return reasons[-1] if reasons and not any("GPU" in kind for kind in self.alternatives) else None


class _Choice(NamedTuple):
    """A plan, its elements, and its seconds with margins."""

    plan: Plan
    elements: list[Element]
    cautious: float


class _Candidates(NamedTuple):
    """One kind of placement: its elements, policies, and whether the share of the CPU side is open."""

    kind: str
    elements: list[Element]
    policies: list[str]
    alpha: float | None
    open_alpha: bool = False


@dataclass(slots=True)
class _Search:
    """The fastest placement of each kind so far, and the kinds that do not fit."""

    sizes: GraphSizes
    work: Workload
    model: CostModel
    passes: float
    found: dict[str, _Choice] = field(default_factory=dict)
    infeasible: dict[str, DeviceOutOfMemory] = field(default_factory=dict)

    def add(self, candidates: _Candidates) -> None:
        """Evaluate all placements of one kind."""
        for policy in candidates.policies:
            if candidates.open_alpha and not find_policy(policy).even:
                self._search_share(candidates, policy)
            else:
                self._evaluate(candidates, policy, candidates.alpha)

    def _search_share(self, candidates: _Candidates, policy: str) -> None:
        """Evaluate shares of the CPU side in coarse steps, then in fine steps around the best."""
        coarse = {step: self._evaluate(candidates, policy, step / 100) for step in _COARSE}
        best = min(coarse, key=coarse.__getitem__)
        for step in range(max(1, best - _FINE), min(99, best + _FINE) + 1):
            if step != best:
                self._evaluate(candidates, policy, step / 100)

    def _evaluate(self, candidates: _Candidates, policy: str, share: float | None) -> float:
        """Return the seconds of a placement with margins, and keep the placement if it is the best."""
        kind, members = candidates.kind, candidates.elements
        try:
            shares, nbytes = estimate_shares(self.sizes, members, policy, share)
        except DeviceOutOfMemory as error:
            self.infeasible[kind] = error
            return math.inf
        # A run without passes has no time, so placements are compared by one pass.
        seconds = self.model.cautious_seconds(shares, passes=self.passes or 1)
        if not math.isfinite(seconds):
            msg = (
                f"passes=: expected a number with a finite predicted time of {self.work.name}, found "
                f"{self.passes}; give fewer passes"
            )
            raise ArgumentError(msg)
        if kind not in self.found or seconds < self.found[kind].cautious:
            prediction = self.model.predict(shares, passes=self.passes)
            names = tuple(e.name.partition("#")[0] for e in members)
            work = self.work
            placement = names, policy, share, tuple(shares), tuple(nbytes)
            plan = Plan(work.name, work.unit, self.passes, *placement, prediction, {}, {}, self.model)
            self.found[kind] = _Choice(plan, members, seconds)
        return seconds


def choose(
    sizes: GraphSizes,
    work: Workload,
    placement: Placement,
    elements: Sequence[Element],
    model: CostModel,
    *,
    passes: float = 1.0,
    cpu_alone: Element | None = None,
) -> tuple[Plan, Placement]:
    """Return the plan with the least predicted time, and its placement, in which nothing is open.

    The search compares placements by their seconds with margins: see `CostModel.cautious_seconds`. If the
    elements of `placement` are not open, the plan must use all of them, and other placements are only
    alternatives. `cpu_alone` is the CPU without threads reserved for GPUs. The alpha of the result is None if
    elements divide the edges in proportion to their threads.

    Raises
    ------
    DeviceOutOfMemory
        If nothing fits.
    ArgumentError
        For a number of passes whose time is not finite.
    """
    use_all = placement.on is not None
    policies = list(PLANNED) if placement.policy == "auto" else [placement.policy]
    search = _Search(sizes, work, model, passes)
    required: str | None = None  # the kind that uses all elements
    equal = sizes.equal_parts_policy if placement.policy == "auto" else lambda _parts: policies[0]
    for candidates in _candidates(
        elements, policies, placement.alpha, use_all=use_all, cpu_alone=cpu_alone, equal=equal
    ):
        if use_all and len(candidates.elements) == len(elements):
            required = candidates.kind
        search.add(candidates)
    found, infeasible = search.found, search.infeasible
    if not found or required not in (None, *found):
        raise infeasible[required] if required is not None else list(infeasible.values())[-1]
    why = {kind: str(error) for kind, error in infeasible.items() if kind not in found}
    best = _best(found, required)
    plan = replace(best.plan, infeasible=why)
    return plan, replace(placement, on=tuple(best.elements), policy=plan.policy, alpha=plan.alpha)


def _candidates(
    elements: Sequence[Element],
    policies: list[str],
    alpha: float | None,
    *,
    use_all: bool,
    cpu_alone: Element | None,
    equal: Callable[[int], str],
) -> Iterable[_Candidates]:
    """Yield each kind of placement. Elements keep their order, as `high` and `low` begin with the first.

    `equal` returns the policy for a number of elements of one kind.
    """
    on_cpu = [e for e in elements if e.kind == "cpu"]
    on_gpu = [e for e in elements if e.kind != "cpu"]
    groups = [on_gpu]
    roomy = _roomy(on_gpu)
    if len(roomy) < len(on_gpu) and not use_all:
        groups.append(roomy)
    if on_cpu and on_gpu:
        for group in groups:
            members = [e for e in elements if e in on_cpu or e in group]
            yield _Candidates("CPU and GPU", members, policies, alpha, open_alpha=alpha is None)
    # A share between two sides leaves out neither. With one side, that side has all edges.
    if on_cpu and (not on_gpu or alpha in (None, 1)):
        of_several = alpha if len(on_cpu) > 1 and not on_gpu else None
        members = [cpu_alone] if cpu_alone is not None else on_cpu
        alike = alpha is None and len({e.threads for e in members}) == 1
        yield _Candidates("CPU alone", members, [equal(len(members) if alike else 1)], of_several)
    if on_gpu and (not on_cpu or alpha in (None, 0)):
        for gpu in on_gpu:
            yield _Candidates("GPU alone", [gpu], [equal(1)], None)
        for group in groups:
            if len(group) > 1:
                share = None if on_cpu else alpha
                yield _Candidates("several GPUs", group, [equal(len(group) if share is None else 1)], share)


def _roomy(on_gpu: list[Element]) -> list[Element]:
    """Return the GPUs with at least half the room of the largest GPU. Shares are even among GPUs."""
    rooms = [gpu.room() or 0 for gpu in on_gpu]
    return [gpu for gpu, room in zip(on_gpu, rooms, strict=True) if 2 * room >= max(rooms)]


def _best(found: dict[str, _Choice], required: str | None) -> _Choice:
    """Return the fastest placement; among about equally fast placements, the one with the fewest elements.

    `required` is the kind of placement that uses all elements, if none may be left out.
    """
    allowed = [kind for kind in found if required in (None, kind)]
    least = min(found[kind].cautious for kind in allowed)
    fast = [found[kind] for kind in allowed if found[kind].cautious <= least * _GAIN_OF_MORE_ELEMENTS]
    best = min(fast, key=lambda one: (len(one.elements), one.cautious))
    times = {kind: one.plan.prediction.seconds for kind, one in found.items()}
    fastest = min(allowed, key=times.__getitem__)
    plan = replace(
        best.plan,
        prediction=best.plan.prediction.with_alternatives(times),
        alternatives=times,
        faster_but_unsafe=fastest if times[fastest] < best.plan.prediction.seconds else None,
    )
    return best._replace(plan=plan)
