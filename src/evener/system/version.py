"""The version of Evener."""

__all__ = ["__version__"]

__version__ = "0.1.0"
