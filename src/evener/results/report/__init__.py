"""Reports of a run: units, the explanation in words, and the HTML page."""
