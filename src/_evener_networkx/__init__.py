"""Evener as a backend of NetworkX: NetworkX calls Evener's algorithms, and the code of the caller stays.

NetworkX finds the backend by its entry points. ``import networkx`` loads `description` only. The first
call that may run on Evener loads `interface` and the modules of functions.
"""
