"""The parts that algorithms declare and share: spec, registry, arguments, goals of searches, verification."""
