"""The command line: ``skdppca demo``, ``fit``, ``plan``, ``sample``, ``ledger`` and so on."""

from ._main import main

__all__ = ["main"]
