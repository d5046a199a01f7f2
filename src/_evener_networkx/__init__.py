"""Evener as a backend of NetworkX: NetworkX calls Evener's algorithms, and the caller's code stays the same.

NetworkX finds the backend by its entry points. `description` is all that ``import networkx`` loads; `interface`
and the modules of functions are loaded by the first call that may run on Evener.
"""
