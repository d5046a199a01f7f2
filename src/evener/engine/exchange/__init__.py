"""Exchanges of boundary values between partitions."""
