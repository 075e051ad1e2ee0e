"""Runs, as a site remembers them: durable before anything of them leaves."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import Struct

from ..privacy.storage import replaced
from .identity import read_private
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
    answered : tuple of Answered
    over : bool
    """

    id: str
    plan: RunPlan
    analyst: str
    secret: str
    table: str
    answered: tuple[Answered, ...] = ()
    over: bool = False


def cost(answered: Iterable[Answered]) -> Fraction:
    """Add up the squared mu of questions, exactly."""
    return sum((Fraction(one.mu) ** 2 for one in answered), Fraction(0))


class Runs:
    """The runs of a site, in files, and heads of its ledger, as names of empty files.

    So a folder that is copied over this one, or another process, replaces no head by an older one.

    Parameters
    ----------
    folder : Path
        Folder of the site.
    """

    def __init__(self, folder: Path) -> None:
        self._site, self._folder = folder, folder / RUNS

    def find(self, run: str) -> Run | None:
        """Return the run of this id, if there is one."""
        file = self._folder / f"{run}.json"
        return msgspec.json.decode(read_private(file), type=Run) if file.exists() else None

    def seen(self) -> set[str]:
        """Return the heads that were stored, and that no later one has replaced."""
        return {file.name for file in self._site.glob("[0-9a-f]*.*.*.head")}

    def see(self, head: str, replaces: set[str]) -> None:
        """Store a head, on the disk when this returns, in the place of others."""
        if head not in replaces:
            with replaced(self._site / head):
                pass
        for other in replaces - {head}:
            (self._site / other).unlink(missing_ok=True)

    def keep(self, run: Run) -> None:
        """Store a run: when this returns, it is on the disk, and only this user can read it."""
        with replaced(self._folder / f"{run.id}.json") as file:
            file.write(msgspec.json.encode(run))

    def end(self, run: Run) -> None:
        """Keep that there was this run, and nothing else of it."""
        self.keep(msgspec.structs.replace(run, secret="", table="", over=True))
        for cut_short in self._folder.glob(f"{run.id}.*.part"):
            cut_short.unlink()
