"""A site: its table, its policy, its ledger, and the three messages that it takes.

Nothing but signed replies and fixed codes leaves. What a reply says follows from the message, from
public facts of the site and from noise that was charged before it was drawn. How long a reply takes
does depend on the table.

The sum is computed before the charge, and the noise after it. Everywhere else the charge comes
first. Here it cannot: the noise follows from the sum (`keyed_noise`), and the charge's row holds
what tells another sum from this one. Until the charge is on the disk nothing of the sum leaves, and
whatever follows from public facts alone is refused before the sum is computed.
"""

from __future__ import annotations

import hmac
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from ..exceptions import BudgetExceeded, LedgerError
from ..noise import NoiseSource, SharedQuery
from ..privacy import GaussianEvent, PrivacyLedger, Receipt, Statement, mu_of
from ..privacy.floats import root_up
from ..records import Part, Records
from ..records.machine import memory_limit
from .identity import Identity, verified
from .keyed_noise import create_secret, noise_key, read_secret, secret_of
from .masks import Pad, RunKey, masked
from .messages import (
    Close,
    Request,
    RunPlan,
    VersionError,
    array_digest,
    digest_of,
    key_text,
    refusal_text,
    reply_text,
)
from .policy import Policy
from .questions import Asked, Drawn, QuestionError, priced, read_question, standin
from .refusals import Refusal, Refused
from .runs import Answered, Run, Runs, cost
from .site_table import Reader, SiteTable, look, read_arrays
from .transport import Reply

FOLDERS = ("runs", "outbox")
POLICY, KEY, ERRORS, REFUSED = "site.json", "identity.key", "errors.log", "refused.log"

# Bytes of a local log, of which the last and the one before are kept.
MAX_LOG = 2**20

# Words of memory for every entry of an answer: its sum, its noise while it is drawn, masks, letter.
HELD = 8

BYTES = 8  # of a word

M = TypeVar("M", RunPlan, Request, Close)


class Site:
    """A site of a study, in a folder of its own.

    The folder holds ``site.json`` (`Policy`), ``identity.key``, ``noise.key``, the ledger, the
    state of runs, and two logs. ``errors.log`` may hold data of the site, and ``refused.log`` holds
    codes. None of it may be shared. To end a run that nobody closes, stop the site and delete the
    files of the run in ``runs`` and ``outbox``.

    Parameters
    ----------
    folder : str or path-like
        That `Site.prepare` made, with a ``site.json``.
    read : callable, optional
        ``read(path, columns, groups)`` returns the rows of a table, and the labels of their groups
        or None. By default it reads .npy and .npz files.

    Raises
    ------
    ValueError, LedgerError
        If the policy, the key and the ledger do not fit together: for the site's own people.
    """

    def __init__(self, folder: str | os.PathLike[str], read: Reader = read_arrays) -> None:
        self.folder = Path(folder)
        self.policy = Policy.read(self.folder / POLICY)
        self.identity = Identity.read(self.folder / KEY)
        self._secret = read_secret(self.folder)
        self.ledger = PrivacyLedger(self.folder / self.policy.ledger)
        self._read = read
        self._runs = Runs(self.folder)
        self._held: tuple[str, SiteTable] | None = None
        study = self.policy.study
        if study.sites[self.name] != self.identity.public:
            raise ValueError(
                f"the study gives {self.name} the key {study.sites[self.name]}, but {KEY} has the "
                f"public key {self.identity.public}; give the name that the study has for this "
                "key, or correct the study at all sites"
            )
        if (self.ledger.adjacency, self.ledger.unit) != ("add-remove", study.unit):
            raise ValueError(
                f"the ledger counts adjacency={self.ledger.adjacency!r}, unit={self.ledger.unit!r},"
                f" but the study needs 'add-remove' and {study.unit!r}; make another ledger"
            )

    @staticmethod
    def prepare(folder: str | os.PathLike[str]) -> Identity:
        """Make a site's folder with its key; then write its policy to ``site.json``.

        Parameters
        ----------
        folder : str or path-like
            Where no site is yet.

        Returns
        -------
        Identity
            Whose public key the study needs.
        """
        for name in ("", *FOLDERS):
            (Path(folder) / name).mkdir(mode=0o700, parents=not name, exist_ok=True)
        identity = Identity.create(Path(folder) / KEY)
        create_secret(Path(folder))
        return identity

    @property
    def name(self) -> str:
        """As the roster calls it."""
        return self.policy.name

    @property
    def table(self) -> SiteTable:
        """The rows; read again if a file of them was written to.

        Raises
        ------
        ValueError, TypeError, OSError
            If they cannot be used: for the site's own people.
        """
        policy, before = self.policy, self._look()
        if self._held is None or self._held[0] != before:
            groups = policy.groups
            if groups is not None and (self.folder / groups).exists():  # a file, and no column
                groups = str(self.folder / groups)
            path = str(self.folder / policy.table)
            rows, labels = self._read(path, policy.study.columns, groups)
            table = SiteTable(policy.study, rows, labels)
            if self._look() != before:
                raise ValueError(f"{path}: it was written to while it was read; try again")
            self._held = before, table
        return self._held[1]

    def _look(self) -> str:
        """How the files of the table look now."""
        names = (self.policy.table, self.policy.groups)
        return look(self.folder / name for name in names if name is not None)

    # --- messages

    def hello(self, body: bytes, signature: str) -> Reply:
        """Agree to a plan, and hand out a public key for its run; again, the same.

        Raises
        ------
        Refused
        """
        return self._guarded("hello", lambda: self._hello(body, signature))

    def answer(self, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> Reply:
        """Charge the ledger, and answer the next question of a run; again, the same, for free.

        Raises
        ------
        Refused
        """
        return self._guarded("answer", lambda: self._answer(body, signature, arrays))

    def close(self, body: bytes, signature: str) -> Reply:
        """End a run: forget its key and its answers, and record what was released.

        Raises
        ------
        Refused
        """
        return self._guarded("close", lambda: self._close(body, signature))

    def refusal(self, code: Refusal, sent: str, nonce: str) -> Refused:
        """A refusal, signed.

        Parameters
        ----------
        code : Refusal
        sent : str
            The digest of all that was sent; empty if it was no message.
        nonce : str
            That came with it: 32 hexadecimal digits, or it is left out.
        """
        nonce = nonce if re.fullmatch("[0-9a-f]{32}", nonce) else ""
        text = refusal_text(self.name, sent, nonce, code.value)
        return Refused(code, self.identity.sign(text))

    # --- hello

    def _hello(self, body: bytes, signature: str) -> Reply:
        analyst = self._analyst(body, signature)
        plan = _read(RunPlan, body)
        objection = self.policy.objection(plan)
        if objection is not None:
            raise Refused(objection)
        with self._runs.locked(plan.run):
            run = self._runs.find(plan.run)
            if run is None:
                run = self._begun(plan, analyst)
                self._runs.keep(run)
            elif (run.plan, run.analyst) != (body.decode(), analyst):
                raise Refused(Refusal.RUN_USED)
            else:
                self._check_open(run)
        public = RunKey(run.secret).public
        return self._signed(
            plan.digest,
            key=public,
            key_signature=self.identity.sign(key_text(plan.digest, self.name, public)),
        )

    def _begun(self, plan: RunPlan, analyst: str) -> Run:
        """A run that the site agrees to, and that its ledger can afford from end to end."""
        statement = self.ledger.statement()
        if _charges(statement, f"{plan.run}/"):
            raise Refused(Refusal.RUN_USED)  # the ledger knows it, and the runs were lost
        mu = mu_of(plan.epsilon, plan.delta)
        if not self._affords(statement, mu):
            raise Refused(Refusal.BUDGET)
        table = self._usable_table()
        return Run(
            id=plan.run,
            plan=plan.body.decode(),
            analyst=analyst,
            secret=RunKey().secret,
            table=table.fingerprint,
            ledger=(len(statement.chain.rows), statement.chain.head()),
        )

    # --- answer

    def _answer(self, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> Reply:
        analyst = self._analyst(body, signature)
        request = _read(Request, body)
        with self._runs.locked(request.run):
            run = self._known(request.run, request.plan, analyst)
            statement = self._check_open(run)
            digest, before = digest_of(body), len(run.answered)
            if request.round <= before:  # it was charged
                if run.answered[request.round - 1].digest != digest:
                    raise Refused(Refusal.CHANGED)
                reply = self._runs.sent(run.id, request.round)
                if reply is not None and reply.fields["request"] == digest:
                    return reply
            elif request.round > before + 1:
                raise Refused(Refusal.ROUND)
            # what the price depends on is checked and computed here, and not believed
            plan = run.agreed()
            pads = self._pads(run, plan, request, digest)
            asked, query = self._question(plan, request, arrays)
            self._check_room(asked, query)
            answered = Answered(digest, query.mu, asked.drawn())
            due = self._due(run, plan, request.round, answered, statement)
            # the sum, of which nothing leaves before the charge: its noise follows from it
            try:
                total = self._total(run, asked)
            except Refused:
                raise
            except Exception:  # that a sum fails may tell of the table: it is charged as an answer
                if not isinstance(due, Receipt):
                    self._charged(run, plan, request.round, answered, due, seal="failed")
                raise
            drawn = noise_key(self._secret, self.name, plan, request, query, query.rounded(total))
            # charge; from here on nothing may be asked otherwise
            self._charged(run, plan, request.round, answered, due, drawn.seal)
            # then noise, then the outbox, then the reply
            vector = masked(query.share(total, NoiseSource(key=drawn.key)), pads)
            reply = self._signed(digest, vector, mu=query.mu.hex())
            self._runs.send(run.id, request.round, reply)
        return reply

    def _pads(self, run: Run, plan: RunPlan, request: Request, digest: str) -> list[Pad]:
        """The masks of this site, from keys that their sites signed for this plan."""
        sites, mine = plan.study.sites, RunKey(run.secret)
        if set(request.keys) != set(sites):
            raise Refused(Refusal.ROSTER)
        for site, (key, signature) in request.keys.items():
            if not verified(sites[site], signature, key_text(request.plan, site, key)):
                raise Refused(Refusal.KEYS)
        keys = {site: key for site, (key, _) in request.keys.items()}
        if keys[self.name] != mine.public:
            raise Refused(Refusal.KEYS)
        pads = _tried(lambda: mine.pads(self.name, keys, digest))
        if pads is None:  # a key of low order
            raise Refused(Refusal.KEYS)
        return pads

    def _question(
        self, plan: RunPlan, request: Request, arrays: Mapping[str, np.ndarray]
    ) -> tuple[Asked, SharedQuery]:
        """The question, and the query that says what noise is drawn and what is charged."""
        if {name: _digest(array) for name, array in arrays.items()} != request.inputs:
            raise Refused(Refusal.INPUTS)
        like = self._standin()
        try:
            asked, layout = read_question(request.question, arrays, like)
        except QuestionError:
            asked = None
        if asked is None:
            raise Refused(Refusal.QUESTION)
        if not request.question.kinds() <= set(plan.statistics):
            raise Refused(Refusal.STATISTIC)
        query = _tried(
            lambda: priced(
                asked,
                layout,
                SharedQuery,
                name=type(asked.statistic).__name__,
                n_sites=len(plan.study.sites),
                honest=plan.honest,
                grid_log2=request.grid_log2,
                site_sd=request.noise_sd,
            )
        )
        if query is None or not 0 < query.mu < np.inf:
            raise Refused(Refusal.NOISE)
        if not query.fits(plan.study.max_rows):
            raise Refused(Refusal.MODULUS)
        return asked, query

    def _check_room(self, asked: Asked, query: SharedQuery) -> None:
        """Refuse what this machine could not hold for as many rows as the study declares.

        To fail for as many as there are would tell how many, without noise. So would an attempt: it
        shows how much memory the table has left, to the page, and a refusal costs nothing. The
        noise and the masks of an answer are drawn after the charge, and must not fail then.
        """
        study = self.policy.study
        numbers = study.max_rows * asked.held(study.n_features) + HELD * query.drawn
        if BYTES * numbers > memory_limit():
            raise Refused(Refusal.MEMORY)

    def _total(self, run: Run, asked: Asked) -> np.ndarray:
        """The exact sum over the records."""
        with np.errstate(all="ignore"):  # rows that overflow weigh nothing
            return self._records(run, asked).total(asked.statistic)

    def _records(self, run: Run, asked: Asked) -> Records:
        """The site's records through the question's steps, of a table that the run began with.

        The random subsets follow from the run's id.
        """
        table = self._usable_table()
        if table.fingerprint != run.table:
            raise Refused(Refusal.TABLE)
        known = {part.draw: part.shares for one in run.answered for part in one.drawn}
        for part in asked.drawn():
            if known.setdefault(part.draw, part.shares) != part.shares:
                raise Refused(Refusal.QUESTION)
        records, labels = table.records, secret_of(self._secret, run.id, "labels")
        for step in asked.steps:
            if isinstance(step, Drawn):
                key = hmac.digest(labels, step.draw.to_bytes(8, "little"), "sha256")
                step = Part(key, step.shares, step.index)
            records = step.of(records)
        return records

    def _due(
        self, run: Run, plan: RunPlan, round: int, answered: Answered, statement: Statement
    ) -> Receipt | float:
        """The charge of a question, or the mu to be charged if there is none yet.

        All that can be refused from public facts is refused here: before the sum, whose time may
        tell of the table.
        """
        receipt = next(iter(_charges(statement, f"{run.id}/{round}/")), None)
        if receipt is not None:
            if not receipt.label.startswith(_label(run, round, answered)):
                raise Refused(Refusal.CHANGED)
            return receipt
        if round <= len(run.answered):  # of another ledger, or of none
            self._runs.end(run)
            raise Refused(Refusal.RUN_OVER)
        paid, after = cost(run.answered), cost((*run.answered, answered))
        if after > Fraction(mu_of(plan.epsilon, plan.delta)) ** 2:
            raise Refused(Refusal.BEYOND_PLAN)
        mu = root_up(after - paid)
        if not self._affords(statement, mu):
            raise Refused(Refusal.BUDGET)
        return mu

    def _affords(self, statement: Statement, mu: float) -> bool:
        """Return whether the ledger can be charged a Gaussian event."""
        spent = statement.chain.total.gaussian(mu)
        return spent.fits(self.ledger.epsilon, self.ledger.delta)

    def _charged(
        self,
        run: Run,
        plan: RunPlan,
        round: int,
        answered: Answered,
        due: Receipt | float,
        seal: str,
    ) -> None:
        """Charge a question, once, whenever the site was cut off; and keep that it was asked."""
        label = _label(run, round, answered) + seal
        if not isinstance(due, Receipt):
            due = self._charge(due, plan, label)
        elif due.label != label:  # another vector: with other noise it would be a second answer
            raise Refused(Refusal.SUM)
        if round > len(run.answered):
            answers = (*run.answered, answered)
            self._runs.keep(replace(run, answered=answers, ledger=(due.row, due.head)))

    def _charge(self, mu: float, plan: RunPlan, label: str) -> Receipt:
        try:
            return self.ledger.charge(
                GaussianEvent(mu), adjacency="add-remove", unit=plan.study.unit, label=label
            )
        except BudgetExceeded:
            pass
        raise Refused(Refusal.BUDGET)

    # --- close

    def _close(self, body: bytes, signature: str) -> Reply:
        analyst = self._analyst(body, signature)
        close = _read(Close, body)
        with self._runs.locked(close.run):
            run = self._known(close.run, close.plan, analyst)
            self._runs.end(run)  # again, if it was cut off before all answers were gone
            if close.release is not None:
                for receipt in self.ledger.unrecorded:
                    if receipt.label.startswith(f"{run.id}/"):
                        self.ledger.record(receipt, close.release)
        return self._signed(digest_of(body))

    # --- what all have in common

    def _analyst(self, body: bytes, signature: str) -> str:
        """Whose signature it is."""
        for analyst in self.policy.analysts:
            if verified(analyst, signature, body):
                return analyst
        raise Refused(Refusal.ANALYST)

    def _known(self, name: str, plan: str, analyst: str) -> Run:
        """A run that this analyst began with this plan."""
        run = self._runs.find(name)
        if run is None:
            raise Refused(Refusal.RUN)
        if digest_of(run.plan.encode()) != plan or run.analyst != analyst:
            raise Refused(Refusal.PLAN)
        return run

    def _check_open(self, run: Run) -> Statement:
        """Refuse a run that is over, or whose ledger lacks what the run has charged."""
        if not run.over:
            row, head = run.ledger
            statement = self.ledger.statement()
            chain = statement.chain
            if row <= len(chain.rows) and chain.head(row) == head:
                return statement
            self._runs.end(run)
        raise Refused(Refusal.RUN_OVER)

    def _usable_table(self) -> SiteTable:
        """The table, or the code for one that cannot be used."""
        try:
            return self.table
        except Exception:
            self._note_error("table")
        raise Refused(Refusal.TABLE)

    def _standin(self) -> Records:
        study = self.policy.study
        return standin(
            study.n_features,
            grouped=study.unit != "row",
            is_sparse=study.sparse,
            may_miss=study.missing == "mean",
        )

    def _signed(self, request: str, vector: np.ndarray | None = None, **more: str) -> Reply:
        fields = {"site": self.name, "request": request, **more}
        signature = self.identity.sign(reply_text(fields, vector))
        return Reply(fields | {"signature": signature}, vector)

    def _guarded(self, action: str, act: Callable[[], Reply]) -> Reply:
        """Whatever happens: a reply, or one of the codes, without a trace of what raised it."""
        try:
            return act()
        except Refused as refused:
            code = refused.code
        except LedgerError:
            code = Refusal.LEDGER
            self._note_error(action)
        except Exception:
            code = Refusal.INTERNAL
            self._note_error(action)
        with _quietly():
            self._note(REFUSED, f"{action} {code}\n")
        raise Refused(code)

    def _note_error(self, action: str) -> None:
        with _quietly():
            self._note(ERRORS, f"{action}\n{traceback.format_exc()}\n")

    def _note(self, name: str, text: str) -> None:
        """Add to a local log, of which not more is kept than was said."""
        file = self.folder / name
        if file.exists() and file.stat().st_size > MAX_LOG:
            os.replace(file, file.with_name(name + ".1"))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as out:
            out.write(f"{now} {text}")


@contextmanager
def _quietly() -> Iterator[None]:
    """A log that cannot be written keeps no reply back."""
    try:
        yield
    except OSError:
        pass


def _read(kind: type[M], body: bytes) -> M:
    """A message, or the code for one that cannot be read."""
    code = Refusal.MALFORMED
    try:
        return kind.from_body(body)
    except VersionError:
        code = Refusal.PROTOCOL
    except ValueError:
        pass
    raise Refused(code)


def _tried(compute: Callable[[], Any]) -> Any:
    """What is computed of public numbers, or None if they do not allow it."""
    try:
        return compute()
    except (ValueError, TypeError, ArithmeticError, MemoryError):
        return None


def _charges(statement: Statement, begun: str) -> list[Receipt]:
    """The charges whose label begins so."""
    return [one for one in statement.chain.receipts if one.label.startswith(begun)]


def _label(run: Run, round: int, answered: Answered) -> str:
    """How the label of a question's charge begins; its seal follows."""
    return f"{run.id}/{round}/{answered.digest}/"


def _digest(array: Any) -> str:
    return array_digest(array) if isinstance(array, np.ndarray) else ""
