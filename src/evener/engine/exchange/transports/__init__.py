"""Transports, one file each, with a `TRANSPORT`; see `evener.engine.exchange.transport`."""
