"""mpmath in several threads."""

from __future__ import annotations

import threading

import mpmath


class ThreadContext(threading.local):
    """An mpmath context for each thread: it holds the precision, which others would change.

    Parameters
    ----------
    digits : int
        Decimal digits, where no block asks for others.
    """

    def __init__(self, digits: int = 15) -> None:
        self.mp = mpmath.mp.clone()
        self.mp.dps = digits
