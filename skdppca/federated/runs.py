"""Runs, as a site remembers them: durable before anything of them leaves."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import Struct

from ..privacy.storage import replaced
from .messages import RunPlan

RUNS = "runs"


class Answered(Struct, frozen=True):
    """A question that was charged.

    Parameters
    ----------
    digest : str
        Digest of the request.
    mu : float
        Its price.
    """

    digest: str
    mu: float


class Run(Struct, frozen=True):
    """A run, as a site knows it.

    Parameters
    ----------
    id : str
    plan : RunPlan
    analyst : str
        Whose signature it has.
    secret : str
        For the masks; gone when the run is over.
    table : str
        The fingerprint of the table.
    ledger : tuple of (int, str)
        The last row of the ledger, when the run began or was charged last, and the head there.
    answered : tuple of Answered
    over : bool
    """

    id: str
    plan: RunPlan
    analyst: str
    secret: str
    table: str
    ledger: tuple[int, str]
    answered: tuple[Answered, ...] = ()
    over: bool = False


def cost(answered: Iterable[Answered]) -> Fraction:
    """Add up the squared mu of questions, exactly."""
    return sum((Fraction(one.mu) ** 2 for one in answered), Fraction(0))


class Runs:
    """The runs of a site, in files.

    Parameters
    ----------
    folder : Path
        Folder of the site.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / RUNS

    def find(self, run: str) -> Run | None:
        """Return the run of this id, if there is one."""
        file = self._folder / f"{run}.json"
        return msgspec.json.decode(file.read_bytes(), type=Run) if file.exists() else None

    def heads(self) -> set[tuple[int, str]]:
        """Return the rows of the ledger that all runs have seen, each with its head."""
        files = self._folder.glob("*.json")
        return {msgspec.json.decode(one.read_bytes(), type=Run).ledger for one in files}

    def keep(self, run: Run) -> None:
        """Store a run: when this returns, it is on the disk, and only this user can read it."""
        with replaced(self._folder / f"{run.id}.json") as file:
            file.write(msgspec.json.encode(run))

    def end(self, run: Run) -> None:
        """Keep that there was this run, and nothing else of it."""
        self.keep(msgspec.structs.replace(run, secret="", table="", over=True))
        for cut_short in self._folder.glob(f"{run.id}.*.part"):
            cut_short.unlink()
