"""Contract tests for algorithms, elements, transports, formats, policies and worlds of other packages."""
