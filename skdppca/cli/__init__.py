"""The command line: ``skdppca demo``, ``fit``, ``ledger`` and ``report``."""

from ._main import main

__all__ = ["main"]
