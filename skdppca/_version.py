"""The version, which every release records."""

__all__ = ["__version__"]

__version__ = "0.1.0"
