"""Graph generators and their edge sources."""
