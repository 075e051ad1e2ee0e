"""How a run ends that was cut short, or failed after its charge."""

from __future__ import annotations


class Ended(Exception):
    """A run failed after its charge.

    Parameters
    ----------
    message : str
    status : int
        The exit status of the process.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def status_of(interrupt: KeyboardInterrupt) -> int:
    """The exit status after an interrupt, which carries the number of its signal if it has one."""
    return 128 + (interrupt.args[0] if interrupt.args else 2)
