"""Transports.

A file lists `TRANSPORTS` between elements of one process (see `evener.engine.exchange.transport`), or
`RANK_TRANSPORTS` between GPUs of ranks (see `evener.engine.exchange.remote`). `mpi` joins all other elements
of different ranks.
"""
