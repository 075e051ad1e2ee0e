"""What a site remembers of its runs: durable before anything of it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
from filelock import FileLock, Timeout
from msgspec import Struct

from ..privacy.storage import replaced, synced
from .messages import RunPlan
from .questions import Drawn
from .refusals import Refusal, Refused
from .transport import Reply

# Seconds that a message waits for the one before it.
PATIENCE = 60.0


class Answered(Struct, frozen=True):
    """A question that was charged.

    Parameters
    ----------
    digest : str
        Of the request.
    mu : float
        Its price.
    drawn : tuple of Drawn
        The random parts that it was about; none for all records.
    """

    digest: str
    mu: float
    drawn: tuple[Drawn, ...] = ()


class Run(Struct, frozen=True):
    """A run, as a site knows it.

    Parameters
    ----------
    id : str
    plan : str
        The plan's text.
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
    plan: str
    analyst: str
    secret: str
    table: str
    ledger: tuple[int, str]
    answered: tuple[Answered, ...] = ()
    over: bool = False

    def agreed(self) -> RunPlan:
        """The plan."""
        return RunPlan.from_body(self.plan.encode())

    def ended(self) -> Run:
        """The same when it is over: only that it was is kept."""
        return msgspec.structs.replace(self, secret="", table="", over=True)


def cost(answered: tuple[Answered, ...]) -> Fraction:
    """The squared mu that the record pays which pays most.

    Proof. Labels are drawn without a look at the data, once a run (`skdppca.noise.keyed_labels`).
    Whatever they are, of each draw a record is in one part. So it pays for the questions that are
    about no part, and of each draw no more than for the dearest part, within which the same holds.
    Questions about other parts have the same law with and without the record, given all answers
    before. (`skdppca.privacy.PrivacyFilter.split`)
    """
    paid = Fraction(0)
    draws: dict[int, dict[int, list[Answered]]] = {}
    for one in answered:
        if not one.drawn:
            paid += Fraction(one.mu) ** 2
            continue
        first, *inner = one.drawn
        within = draws.setdefault(first.draw, {}).setdefault(first.index, [])
        within.append(Answered(one.digest, one.mu, tuple(inner)))
    return paid + sum(max(cost(tuple(part)) for part in parts.values()) for parts in draws.values())


class Runs:
    """The runs of a site, in files.

    Parameters
    ----------
    folder : Path
        Of the site.
    """

    def __init__(self, folder: Path) -> None:
        self._runs, self._outbox = folder / "runs", folder / "outbox"

    @contextmanager
    def locked(self, run: str) -> Iterator[None]:
        """One message of a run at a time: a question must not be charged twice."""
        lock = FileLock(self._runs / f"{run}.lock", timeout=PATIENCE)
        try:
            lock.acquire()
        except Timeout:
            lock = None  # type: ignore[assignment]
        if lock is None:
            raise Refused(Refusal.BUSY)
        try:
            yield
        finally:
            lock.release()

    def find(self, run: str) -> Run | None:
        """The run of this id, if there is one; to be called with its lock."""
        file = self._file(run)
        return msgspec.json.decode(file.read_bytes(), type=Run) if file.exists() else None

    def ids(self) -> list[str]:
        """Ids of all runs there ever were."""
        return sorted(file.stem for file in self._runs.glob("*.json"))

    def keep(self, run: Run) -> None:
        """Store a run: when this returns, it is on the disk."""
        written_safely(self._file(run.id), msgspec.json.encode(run))

    def end(self, run: Run) -> None:
        """Keep that there was this run, and nothing else of it."""
        self.keep(run.ended())
        cut_short = self._runs.glob(f"{run.id}.*.part")
        for file in (*self._outbox.glob(f"{run.id}-*"), *cut_short):
            file.unlink()
        synced(self._outbox)

    def send(self, run: str, round: int, reply: Reply) -> None:
        """Put an answer into the outbox; were it lost, it would be computed again, to the bit."""
        assert reply.vector is not None
        content = reply.fields, reply.vector.astype("<u8").tobytes()
        written_safely(self._letter(run, round), msgspec.msgpack.encode(content))

    def sent(self, run: str, round: int) -> Reply | None:
        """The answer in the outbox, if there is one."""
        file = self._letter(run, round)
        if not file.exists():
            return None
        letter = tuple[dict[str, str], bytes]
        fields, content = msgspec.msgpack.decode(file.read_bytes(), type=letter)
        return Reply(fields, np.frombuffer(content, dtype="<u8").astype(np.uint64))

    def _file(self, run: str) -> Path:
        return self._runs / f"{run}.json"

    def _letter(self, run: str, round: int) -> Path:
        return self._outbox / f"{run}-{round}"


def written_safely(path: Path, content: bytes) -> None:
    """Write a file that only this user can read, whole or not at all, and onto the disk."""
    with replaced(path) as file:
        file.write(content)
