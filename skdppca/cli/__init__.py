"""The command line: ``skdppca demo``, ``fit``, ``ledger``, ``report`` and ``verify``."""

from ._main import main

__all__ = ["main"]
