"""Policies, one file each, with a `POLICY`; see `evener.partition.policy`."""
