"""The functions of the vertex programs in `library`, for type checkers and editors."""

from __future__ import annotations

from evener.programs.library.cdlp import cdlp
from evener.programs.library.eigenvector_centrality import eigenvector_centrality
from evener.programs.library.hits import hits
from evener.programs.library.k_core import k_core
from evener.programs.library.katz_centrality import katz_centrality
from evener.programs.library.maximal_independent_set import maximal_independent_set

__all__ = [
    "cdlp",
    "eigenvector_centrality",
    "hits",
    "k_core",
    "katz_centrality",
    "maximal_independent_set",
]
