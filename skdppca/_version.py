"""The version, which every release records."""

__version__ = "0.1.0"
