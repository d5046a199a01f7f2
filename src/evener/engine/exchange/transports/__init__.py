"""Transports: one file for each way in which values travel between two elements."""
