"""Transports, one file each. A new one adds a file with a `TRANSPORT`; see `evener.engine.exchange.transport`."""
