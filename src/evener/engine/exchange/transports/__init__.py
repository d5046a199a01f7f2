"""Transports, one file each.

A file has a `TRANSPORT` between elements of one process (see `evener.engine.exchange.transport`), or a
`RANK_TRANSPORT` between GPUs of ranks (see `evener.engine.exchange.network`). `mpi` joins all other elements
of different ranks.
"""
