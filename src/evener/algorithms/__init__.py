"""The algorithms, one file each: drivers over the engine's three verbs."""
