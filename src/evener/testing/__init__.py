"""Contract tests that algorithms, elements, transports and formats of other packages can inherit."""
