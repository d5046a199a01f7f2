"""Choose few combinations of parameters that still cover every pair of their values."""

from __future__ import annotations

from itertools import combinations, product


def pairwise_cover(*values):
    """Return rows, one value of each list, in which every pair of values of two lists occurs.

    Most defects depend on one parameter or on two (Kuhn, Wallace and Gallo, IEEE TSE 30(6), 2004).
    """
    rows = list(product(*(range(len(choices)) for choices in values)))
    pairs = {row: set(combinations(enumerate(row), 2)) for row in rows}
    missing = set().union(*pairs.values())
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(pairs[row] & missing))
        missing -= pairs[best]
        chosen.append(tuple(choices[i] for choices, i in zip(values, best, strict=True)))
    return chosen
