"""The report of a release: a page to decide on, files to publish, and checks of these."""

from ._context import Context
from ._load import load, merge
from ._release import ReleaseReport, declare, render
from ._verify import Verification, verify

__all__ = [
    "Context",
    "ReleaseReport",
    "Verification",
    "declare",
    "load",
    "merge",
    "render",
    "verify",
]
