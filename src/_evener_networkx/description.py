"""The description that NetworkX reads when it is imported; it imports neither Evener nor NumPy."""

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "describe"]

# The dispatched functions; a test compares them with the functions that the backend declares.
FUNCTIONS = """
adamic_adar_index all_pairs_bellman_ford_path all_pairs_bellman_ford_path_length all_pairs_dijkstra
all_pairs_dijkstra_path all_pairs_dijkstra_path_length all_pairs_shortest_path all_pairs_shortest_path_length
ancestors attracting_components average_clustering average_shortest_path_length barycenter bellman_ford_path
bellman_ford_path_length betweenness_centrality bidirectional_dijkstra bidirectional_shortest_path center
centroid closeness_centrality clustering connected_components core_number degree_centrality descendants
descendants_at_distance diameter dijkstra_path dijkstra_path_length eccentricity edge_betweenness_centrality
efficiency eigenvector_centrality fast_label_propagation_communities global_efficiency goldberg_radzik
harmonic_centrality harmonic_diameter has_path hits in_degree_centrality is_arborescence
is_attracting_component is_branching is_connected is_forest is_isolate is_strongly_connected is_tree
is_weakly_connected isolates jaccard_coefficient johnson k_core k_corona k_crust k_shell katz_centrality
kosaraju_strongly_connected_components leiden_communities louvain_communities maximal_independent_set
maximum_spanning_edges maximum_spanning_tree minimum_spanning_edges minimum_spanning_tree modularity
multi_source_dijkstra multi_source_dijkstra_path multi_source_dijkstra_path_length node_connected_component
number_attracting_components number_connected_components number_of_isolates
number_strongly_connected_components number_weakly_connected_components out_degree_centrality
overall_reciprocity pagerank periphery preferential_attachment radius reciprocity resource_allocation_index
shortest_path shortest_path_length single_source_bellman_ford single_source_bellman_ford_path
single_source_bellman_ford_path_length single_source_dijkstra single_source_dijkstra_path
single_source_dijkstra_path_length single_source_shortest_path single_source_shortest_path_length
single_target_shortest_path single_target_shortest_path_length strongly_connected_components transitivity
triangles weakly_connected_components wiener_index
"""


def describe() -> dict[str, Any]:
    """Return what NetworkX shows about the backend, and the functions that it dispatches."""
    return {
        "backend_name": "evener",
        "project": "evener",
        "package": "evener",
        "url": "https://github.com/evener/evener",
        "short_summary": "Graph algorithms on every processor you have: CPU cores, GPUs and MPI ranks.",
        "functions": {name: {} for name in FUNCTIONS.split()},
    }
