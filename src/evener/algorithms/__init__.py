"""Algorithms: a folder for each with kernels of its own, and a file for each of the others.

Type checkers and editors read the functions of ``evener`` here. At run time the registry needs no list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evener.algorithms.adamic_adar import adamic_adar as adamic_adar
    from evener.algorithms.betweenness.betweenness import betweenness as betweenness
    from evener.algorithms.bfs.bfs import bfs as bfs
    from evener.algorithms.cdlp import cdlp as cdlp
    from evener.algorithms.closeness import closeness as closeness
    from evener.algorithms.clustering import clustering as clustering
    from evener.algorithms.coloring.coloring import coloring as coloring
    from evener.algorithms.common_neighbors import common_neighbors as common_neighbors
    from evener.algorithms.core_number.core_number import core_number as core_number
    from evener.algorithms.diameter import diameter as diameter
    from evener.algorithms.eccentricity import eccentricity as eccentricity
    from evener.algorithms.edge_betweenness.edge_betweenness import edge_betweenness as edge_betweenness
    from evener.algorithms.eigenvector import eigenvector as eigenvector
    from evener.algorithms.harmonic import harmonic as harmonic
    from evener.algorithms.hits import hits as hits
    from evener.algorithms.jaccard import jaccard as jaccard
    from evener.algorithms.k_core import k_core as k_core
    from evener.algorithms.katz import katz as katz
    from evener.algorithms.label_propagation import label_propagation as label_propagation
    from evener.algorithms.leiden.leiden import leiden as leiden
    from evener.algorithms.louvain import louvain as louvain
    from evener.algorithms.maximal_independent_set import maximal_independent_set as maximal_independent_set
    from evener.algorithms.modularity import modularity as modularity
    from evener.algorithms.overlap import overlap as overlap
    from evener.algorithms.pagerank.pagerank import pagerank as pagerank
    from evener.algorithms.random_walks import random_walks as random_walks
    from evener.algorithms.resource_allocation import resource_allocation as resource_allocation
    from evener.algorithms.scc.scc import scc as scc
    from evener.algorithms.spanning_forest.spanning_forest import spanning_forest as spanning_forest
    from evener.algorithms.sssp.sssp import sssp as sssp
    from evener.algorithms.transitivity import transitivity as transitivity
    from evener.algorithms.triangles import triangles as triangles
    from evener.algorithms.wcc.wcc import wcc as wcc
