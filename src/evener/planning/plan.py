"""Plan: before a run, where each part of a graph goes, what it takes up there, and how long it will take."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.partition.policies import POLICIES, edge_shares
from evener.planning.model import predict
from evener.planning.sizes import ALPHAS, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evener.elements import Element
    from evener.planning.model import Share
    from evener.planning.prediction import Prediction
    from evener.planning.rates import Rates
    from evener.planning.sizes import Sizes

__all__ = ["Plan", "check_choices", "make_plan"]

# More elements have to promise this much, for a prediction is not exact, and one element is simpler.
_WORTH_IT = 1.03
# That choice is made which would be done first if the CPU took so many times what is predicted:
# others slow its memory, and 95% of R-MAT 26's edges took 15 cores 341, 346 and 498 ms an iteration of
# PageRank, where the GPU's times were the same to a hundredth. Little is lost by giving it less: a hundredth
# of the edges is 2 ms to an H200 that reads them across the bus, and by policy low 5 to 8 to those cores.
_CPU_MAY_TAKE = 1.15


@dataclass(frozen=True, slots=True)
class Plan:
    """A placement, and what is expected of it.

    Attributes
    ----------
    algorithm : str
    on : tuple of str
        The elements to use: what `partition` takes.
    policy : str
    alpha : float or None
        Share of the edges on the CPU side; None where there is one element.
    shares : tuple of Share
        Vertices, mirrors and edges of each element.
    nbytes : tuple of int
        Bytes that each share takes up on its element.
    prediction : Prediction
    alternatives : dict of str to float
        Predicted seconds of each choice there was: "CPU alone", "GPU alone", "several GPUs", "CPU
        and GPU".
    refused : dict of str to str
        Of those that do not fit, why, in a sentence.
    passed_over : str or None
        The choice that is predicted to be a little faster, but is no safe gain: on more elements, or slower
        as soon as the CPU is slower than when it was measured.
    """

    algorithm: str
    on: tuple[str, ...]
    policy: str
    alpha: float | None
    shares: tuple[Share, ...]
    nbytes: tuple[int, ...]
    prediction: Prediction
    alternatives: dict[str, float]
    refused: dict[str, str]
    passed_over: str | None = None

    @property
    def leaves_gpus_out(self) -> str | None:
        """Why, in a sentence, where no GPU has room for any share of the graph."""
        reasons = [why for kind, why in self.refused.items() if "GPU" in kind]
        return reasons[-1] if reasons and not any("GPU" in kind for kind in self.alternatives) else None


def make_plan(
    sizes: Sizes,
    algorithm: str,
    elements: Sequence[Element],
    rates: Rates,
    *,
    policy: str = "auto",
    alpha: float | None = None,
    passes: float = 1.0,
    all_of_them: bool = False,
    cpu_alone: Element | None = None,
) -> Plan:
    """Choose the elements, the policy and the share of the CPU side that will be done first.

    Choices are compared as if the CPU were somewhat slower than predicted: its times vary more than a GPU's.

    Parameters
    ----------
    sizes : Sizes
    algorithm : str
    elements : sequence of Element
        Those that may be used.
    rates : Rates
    policy : str
        "auto", or the one to use.
    alpha : float, optional
        The share to use. Default: the best.
    passes : float
        How many passes the run will have: iterations of PageRank, sources.
    all_of_them : bool
        Whether every element has to be used; the others are alternatives then.
    cpu_alone : Element, optional
        The CPU as it is without GPUs beside it, for which it keeps threads back. Default: as in `elements`.

    Raises
    ------
    DeviceOutOfMemory
        If nothing fits; the sentence says what would.
    ArgumentError
        For an algorithm without rates, a policy that does not exist, a share outside 0..1, or passes that
        take longer than can be told.
    """
    if algorithm not in rates.cpu:
        msg = f"no rates are known for {algorithm!r}; choose one of {', '.join(sorted(rates.cpu))}"
        raise ArgumentError(msg)
    check_choices(policy, alpha)
    policies = sorted(POLICIES) if policy == "auto" else [policy]
    found: dict[str, Plan] = {}
    surely: dict[str, float] = {}
    refused: dict[str, DeviceOutOfMemory] = {}
    whole: str | None = None
    for kind, members, own_policies, alphas in _candidates(
        elements, policies, alpha, all_of_them=all_of_them, cpu_alone=cpu_alone
    ):
        if all_of_them and len(members) == len(elements):
            whole = kind
        for one_policy in own_policies:
            for share in alphas:
                try:
                    plan = _one(sizes, algorithm, members, rates, one_policy, share, passes)
                except DeviceOutOfMemory as error:
                    refused[kind] = error
                    continue
                # Where there is nothing to do, by one pass: something has to be chosen.
                seconds = predict(
                    plan.shares, algorithm, rates, passes=passes or 1, cpu_takes=_CPU_MAY_TAKE
                ).seconds
                if not math.isfinite(seconds):
                    msg = (
                        f"by the rates of this machine {passes} passes of {algorithm} take {seconds} "
                        "seconds, so no choice is better than another; give fewer passes"
                    )
                    raise ArgumentError(msg)
                if seconds < surely.get(kind, math.inf):
                    found[kind], surely[kind] = plan, seconds
    if not found or whole not in (None, *found):  # no candidate fails in another way
        raise refused[whole] if whole is not None else list(refused.values())[-1]
    why = {kind: str(error) for kind, error in refused.items() if kind not in found}
    return replace(_best(found, surely, whole=whole), refused=why)


def check_choices(policy: str, alpha: float | None) -> None:
    """Refuse a policy that does not exist, and what is no share."""
    if not isinstance(policy, str) or policy not in ("auto", *POLICIES):
        msg = f"policy {policy!r} does not exist; choose auto, {', '.join(sorted(POLICIES))}"
        raise ArgumentError(msg)
    edge_shares([1.0], alpha)


def _candidates(
    elements: Sequence[Element],
    policies: list[str],
    alpha: float | None,
    *,
    all_of_them: bool,
    cpu_alone: Element | None,
) -> Iterable[tuple[str, list[Element], list[str], Sequence[float | None]]]:
    """What may be tried: each kind of choice by name, its elements, policies, and shares of the CPU side.

    Elements keep their order, for `high` and `low` begin with the first.
    """
    on_cpu = [e for e in elements if e.kind == "cpu"]
    on_gpu = [e for e in elements if e.kind != "cpu"]
    plain = ["random"] if "random" in policies else policies[:1]
    groups = [on_gpu]
    roomy = _roomy(on_gpu)
    if len(roomy) < len(on_gpu) and not all_of_them:
        groups.append(roomy)
    if on_cpu and on_gpu:
        for group in groups:
            members = [e for e in elements if e in on_cpu or e in group]
            yield "CPU and GPU", members, policies, ALPHAS if alpha is None else [alpha]
    # A share between two sides leaves neither of them out; where there is one side, all edges are its.
    if on_cpu and (not on_gpu or alpha in (None, 1)):
        of_several = alpha if len(on_cpu) > 1 and not on_gpu else None
        yield "CPU alone", [cpu_alone] if cpu_alone is not None else on_cpu, plain, [of_several]
    if on_gpu and (not on_cpu or alpha in (None, 0)):
        for gpu in on_gpu:
            yield "GPU alone", [gpu], plain, [None]
        for group in groups:
            if len(group) > 1:
                yield "several GPUs", group, plain, [None if on_cpu else alpha]


def _roomy(on_gpu: list[Element]) -> list[Element]:
    """The GPUs without those that others use: such as have half the room of the one with most, or more.

    Shares are even, so one with less would keep all others from half of theirs.
    """
    rooms = [gpu.room() or 0 for gpu in on_gpu]
    return [gpu for gpu, room in zip(on_gpu, rooms, strict=True) if 2 * room >= max(rooms)]


def _one(
    sizes: Sizes,
    algorithm: str,
    elements: Sequence[Element],
    rates: Rates,
    policy: str,
    alpha: float | None,
    passes: float,
) -> Plan:
    shares, nbytes = shares_of(sizes, elements, policy, alpha)
    prediction = predict(shares, algorithm, rates, passes=passes)
    names = tuple(e.name.partition("#")[0] for e in elements)  # as `partition` takes them
    return Plan(algorithm, names, policy, alpha, tuple(shares), tuple(nbytes), prediction, {}, {})


def _best(found: dict[str, Plan], surely: dict[str, float], *, whole: str | None) -> Plan:
    """The fastest, but the one with the fewest elements among those that are about as fast.

    `surely` is what each choice takes if the CPU is slow; `whole` is the kind of choice that uses all
    elements, if none may be left out.
    """
    allowed = [kind for kind in found if whole in (None, kind)]
    least = min(surely[kind] for kind in allowed)
    fast = [kind for kind in allowed if surely[kind] <= least * _WORTH_IT]
    best = found[min(fast, key=lambda kind: (len(found[kind].on), surely[kind]))]
    times = {kind: plan.prediction.seconds for kind, plan in found.items()}
    fastest = min(allowed, key=times.__getitem__)
    return replace(
        best,
        prediction=best.prediction.beside(times),
        alternatives=times,
        passed_over=fastest if times[fastest] < best.prediction.seconds else None,
    )
