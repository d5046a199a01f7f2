"""What a run tells its user: units, the explanation in words, and the page for a browser."""
