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

import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from ..exceptions import BudgetExceeded, LedgerError
from ..noise import NoiseSource, SharedQuery
from ..out_of_core.pieces import Question, seen_through
from ..privacy import ExternalReceipt, GaussianEvent, PrivacyLedger, Receipt, Statement, mu_of
from ..privacy.chain import Chain
from ..privacy.gdp import root_up
from ..records.machine import memory_limit
from .identity import SECRET_BYTES, Identity, create_secret, read_secret, verified
from .keyed_noise import noise_key
from .masks import Pad, RunKey, masked
from .messages import (
    Close,
    Refusal,
    Refused,
    Request,
    RunPlan,
    array_digest,
    digest_of,
    key_text,
    need,
    read_message,
    reply_text,
)
from .policy import Policy
from .questions import held, read_question, standin, terms
from .runs import RUNS, Answered, Run, Runs, cost
from .site_table import Reader, SiteTable, read_arrays
from .transport import Reply

POLICY, KEY, SECRET, ERRORS = "site.json", "identity.key", "noise.key", "errors.log"

# Words of memory for every entry of an answer: its sum, its noise while it is drawn, masks, reply.
HELD = 8

BYTES = 8  # of a word

ID_DIGITS = 16  # of a ledger's id, as many as ``skdppca ledger show`` prints


class Site:
    """A site of a study, in a folder of its own.

    The folder holds ``site.json`` (`Policy`), ``identity.key``, ``noise.key``, the ledger, the
    state of runs, and ``errors.log``, which may hold data of the site. None of it may be shared. To
    end a run that nobody closes, stop the site and delete the file of the run in ``runs``. Leave
    the file whose name ends in ``.head``: by it the site knows a ledger that was put back.

    One process at a time may answer for a site.

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
        self._secret = read_secret(self.folder / SECRET)  # all noise of this site follows from it
        self.ledger = PrivacyLedger(self.folder / self.policy.ledger)
        self._read = read
        self._runs = Runs(self.folder)
        self._last: Reply | None = None
        study = self.policy.study
        names = {key: name for name, key in study.sites.items()}
        if self.identity.public not in names:
            raise ValueError(
                f"no site of the study has the public key {self.identity.public} of {KEY}; correct "
                "the study at all sites"
            )
        self.name = names[self.identity.public]  # in the study
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
        for name in ("", RUNS):
            (Path(folder) / name).mkdir(mode=0o700, parents=not name, exist_ok=True)
        identity = Identity.create(Path(folder) / KEY)
        create_secret(Path(folder) / SECRET)
        return identity

    @cached_property
    def table(self) -> SiteTable:
        """The rows, as they were when they were read first.

        Raises
        ------
        ValueError, TypeError, OSError
            If they cannot be used: for the site's own people.
        """
        policy, groups = self.policy, self.policy.groups
        if groups is not None and (self.folder / groups).exists():  # a file, and no column
            groups = str(self.folder / groups)
        path = str(self.folder / policy.table)
        return SiteTable(policy.study, *self._read(path, policy.study.columns, groups))

    def respond(self, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> Reply:
        """Act on one message: a signed reply, or a signed refusal without a trace of its cause.

        Parameters
        ----------
        body : bytes
            A message in canonical JSON. Agree to a plan, and hand out a public key for its run;
            charge the ledger, and answer the next question of the run; or end the run, and record
            what was released. The same message again gets the same answer, for free.
        signature : str
            The analyst's, of the body.
        arrays : mapping of str to ndarray
            Beside a question.
        """
        try:
            signers = [one for one in self.policy.analysts if verified(one, signature, body)]
            need(signers, Refusal.ANALYST)
            message = read_message(body)
            if isinstance(message, RunPlan):
                return self._hello(message, signers[0])
            if isinstance(message, Request):
                return self._answer(message, signers[0], arrays)
            if isinstance(message, Close):
                return self._close(message, signers[0])
            code = Refusal.MALFORMED
        except Refused as refused:
            code = refused.code
        except BudgetExceeded:
            code = Refusal.BUDGET
        except Exception as error:
            code = Refusal.LEDGER if isinstance(error, LedgerError) else Refusal.INTERNAL
            self._note_error()
        return self._signed(digest_of(body), refused=code.value)

    # --- hello

    def _hello(self, plan: RunPlan, analyst: str) -> Reply:
        self.policy.admit(plan, self.name)
        run = self._runs.find(plan.run)
        if run is None:
            run = self._begun(plan, analyst)
            self._runs.keep(run)
        else:
            need((run.plan, run.analyst) == (plan, analyst), Refusal.RUN)
            self._check_open(run)
        public = RunKey(run.secret).public
        return self._signed(
            plan.digest,
            key=public,
            key_signature=self.identity.sign(key_text(plan.digest, self.name, public)),
        )

    def _begun(self, plan: RunPlan, analyst: str) -> Run:
        """Begin a run that the site agrees to, and that its ledger can afford from end to end."""
        statement = self._whole()
        # else the ledger knows it, and the runs were lost
        need(_charge_of(statement, f"{plan.run}/") is None, Refusal.RUN)
        self._check_affords(statement, mu_of(plan.epsilon, plan.delta))
        return Run(
            id=plan.run,
            plan=plan,
            analyst=analyst,
            secret=os.urandom(SECRET_BYTES).hex(),
            table=self._usable_table().fingerprint,
        )

    # --- answer

    def _answer(self, request: Request, analyst: str, arrays: Mapping[str, np.ndarray]) -> Reply:
        run = self._known(request, analyst)
        statement = self._check_open(run)
        digest, n_before = request.digest, len(run.answered)
        # 1. the next question, or one that was charged, in the same words
        need(request.round <= n_before + 1, Refusal.ROUND)
        if request.round <= n_before:
            need(run.answered[request.round - 1].digest == digest, Refusal.ROUND)
        if self._last is not None and self._last.fields["request"] == digest:
            return self._last
        # 2. what the price depends on is checked and computed here, and not believed
        pads = self._pads(run, request)
        asked, query = self._question(run.plan, request, arrays)
        self._check_room(asked, query)
        answered = Answered(digest, query.mu)
        due = self._due(run, request.round, answered, statement)
        need(self._usable_table().fingerprint == run.table, Refusal.TABLE)
        # 3. the sum, of which nothing leaves before the charge: its noise follows from it
        try:
            total = self._total(asked)
        except Exception:  # that a sum fails may tell of the table: it is charged as an answer
            if not isinstance(due, Receipt):
                self._charged(run, request.round, answered, due, seal="failed")
            raise
        steps = query.rounded(total)
        key, seal = noise_key(self._secret, self.name, request, query, steps)
        # 4. the charge; from here on nothing may be asked otherwise
        self._charged(run, request.round, answered, due, seal)
        # 5. then noise, then the reply
        vector = masked(query.share(total, NoiseSource(key=key)), pads)
        self._last = self._signed(digest, vector, mu=query.mu.hex())
        return self._last

    def _pads(self, run: Run, request: Request) -> list[Pad]:
        """Derive the masks of this site, from keys that their sites signed for this plan."""
        sites, mine = run.plan.study.sites, RunKey(run.secret)
        need(self.name in sites, Refusal.ROSTER)  # unless site.json was replaced
        keys = {site: key for site, (key, _) in request.keys.items()}
        need(keys.keys() == sites.keys() and keys[self.name] == mine.public, Refusal.KEYS)
        for site, (key, signature) in request.keys.items():
            text = key_text(request.plan, site, key)
            need(verified(sites[site], signature, text), Refusal.KEYS)
        # no secret can be shared by a key of low order
        return _tried(Refusal.KEYS, lambda: mine.pads(self.name, keys, request.digest))

    def _question(
        self, plan: RunPlan, request: Request, arrays: Mapping[str, np.ndarray]
    ) -> tuple[Question, SharedQuery]:
        """Read the question, and the query that says what noise is drawn and what is charged."""
        found = {name: array_digest(one) for name, one in arrays.items() if one.dtype == float}
        need(found == request.inputs and len(found) == len(arrays), Refusal.INPUTS)
        base = standin(plan.study)
        asked, layout = _tried(
            Refusal.QUESTION, lambda: read_question(request.question, arrays, base)
        )
        need(request.question.kinds() <= plan.statistics, Refusal.STATISTIC)
        query = _tried(
            Refusal.NOISE,
            lambda: SharedQuery(
                **terms(asked.statistic, layout),
                name=type(asked.statistic).__name__,
                n_sites=len(plan.study.sites),
                honest=plan.honest,
                grid_log2=request.grid_log2,
                site_sd=request.noise_sd,
            ),
        )
        need(0 < query.mu < np.inf, Refusal.NOISE)
        need(query.fits(plan.study.max_rows), Refusal.NOISE)  # into 64 bits
        return asked, query

    def _check_room(self, asked: Question, query: SharedQuery) -> None:
        """Refuse what this machine could not hold for as many rows as the study declares.

        To fail for as many as there are would tell how many, without noise. So would an attempt: it
        shows how much memory the table has left, to the page, and a refusal costs nothing. The
        noise and the masks of an answer are drawn after the charge, and must not fail then.
        """
        numbers = self.policy.study.max_rows * held(asked) + HELD * query.drawn
        need(BYTES * numbers <= memory_limit(), Refusal.MEMORY)

    def _total(self, asked: Question) -> np.ndarray:
        """The exact sum over the records."""
        with np.errstate(all="ignore"):  # rows that overflow weigh nothing
            return seen_through(self.table.records, asked.views).total(asked.statistic)

    def _due(
        self, run: Run, round: int, answered: Answered, statement: Statement
    ) -> Receipt | float:
        """Find the charge of a question, or the mu to be charged if there is none yet.

        All that can be refused from public facts is refused here: before the sum, whose time may
        tell of the table.
        """
        receipt = _charge_of(statement, f"{run.id}/{round}/")
        if receipt is not None:
            need(receipt.label.startswith(_label(run, round, answered)), Refusal.ROUND)
            return receipt
        paid, after = cost(run.answered), cost((*run.answered, answered))
        most = Fraction(mu_of(run.plan.epsilon, run.plan.delta)) ** 2
        need(after <= most, Refusal.BEYOND_PLAN)
        mu = root_up(after - paid)
        self._check_affords(statement, mu)
        return mu

    def _check_affords(self, statement: Statement, mu: float) -> None:
        """Refuse what the ledger cannot be charged."""
        spent = statement.chain.total.gaussian(mu)
        need(spent.fits(self.ledger.epsilon, self.ledger.delta), Refusal.BUDGET)

    def _charged(
        self, run: Run, round: int, answered: Answered, due: Receipt | float, seal: str
    ) -> None:
        """Charge a question, once, whenever the site was cut off; and keep that it was asked."""
        label, unit = _label(run, round, answered) + seal, self.policy.study.unit
        if not isinstance(due, Receipt):
            event = GaussianEvent(due)
            due = self.ledger.charge(event, adjacency="add-remove", unit=unit, label=label)
            self._whole()  # the site has seen this charge before anything leaves
        # another vector with other noise would be a second answer
        need(due.label == label, Refusal.SUM)
        if round > len(run.answered):
            self._runs.keep(replace(run, answered=(*run.answered, answered)))

    # --- close

    def _close(self, close: Close, analyst: str) -> Reply:
        run = self._known(close, analyst)
        self._whole()  # whoever confirms the end has all charges
        self._runs.end(run)
        if close.release is not None:
            for receipt in self.ledger.unrecorded:
                if receipt.label.startswith(f"{run.id}/"):
                    self.ledger.record(receipt, close.release)
        return self._signed(close.digest)

    # --- what all have in common

    def _known(self, message: Request | Close, analyst: str) -> Run:
        """A run that this analyst began with this plan."""
        run = self._runs.find(message.run)
        if run is None or (run.plan.digest, run.analyst) != (message.plan, analyst):
            raise Refused(Refusal.RUN)
        return run

    def _check_open(self, run: Run) -> Statement:
        """Refuse a run that is over."""
        need(not run.over, Refusal.RUN_OVER)
        return self._whole()

    def _whole(self) -> Statement:
        """Return the ledger, and keep its head; refuse one that lacks what the site has seen."""
        seen = self._runs.seen()  # first: another process may charge meanwhile
        statement = self.ledger.statement()
        chain = statement.chain
        if not all(_follows(chain, head) for head in seen):
            raise LedgerError(
                "it lacks what this site has seen; put the ledger itself back, or if that is lost, "
                "see Enlarge a budget in the guide"
            )
        self._runs.see(_head(chain, len(chain.rows)), replaces=seen)
        return statement

    def _usable_table(self) -> SiteTable:
        """The table, or the code for one that cannot be used."""
        try:
            return self.table
        except Exception:
            self._note_error()
        raise Refused(Refusal.TABLE)

    def _signed(self, request: str, vector: np.ndarray | None = None, **more: str) -> Reply:
        fields = {"site": self.name, "request": request, **more}
        signature = self.identity.sign(reply_text(fields, vector))
        return Reply(fields | {"signature": signature}, vector)

    def _note_error(self) -> None:
        """Keep the last error in the site's folder; a log that cannot be written stops no reply."""
        private = partial(os.open, mode=0o600)
        with suppress(OSError), open(self.folder / ERRORS, "w", opener=private) as out:
            out.write(f"{datetime.now(UTC)}\n{traceback.format_exc()}")


def _tried(code: Refusal, compute: Callable[[], Any]) -> Any:
    """Compute something of public numbers; refuse if they do not allow it."""
    with suppress(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError):
        return compute()
    raise Refused(code)


def _head(chain: Chain, row: int) -> str:
    """Name a ledger, a row, and the head there."""
    return f"{chain.terms.accountant[:ID_DIGITS]}.{row}.{chain.head(row)}.head"


def _follows(chain: Chain, head: str) -> bool:
    """Say whether this ledger had this head, or was charged for all of the ledger that had it."""
    ledger, row = head.split(".")[:2]
    if chain.terms.accountant.startswith(ledger):
        return int(row) <= len(chain.rows) and head == _head(chain, int(row))
    external = (one.label for one in chain.receipts if isinstance(one, ExternalReceipt))
    return any(ledger in label for label in external)


def _charge_of(statement: Statement, begun: str) -> Receipt | None:
    """Find the first charge whose label begins so."""
    return next((one for one in statement.chain.receipts if one.label.startswith(begun)), None)


def _label(run: Run, round: int, answered: Answered) -> str:
    """Begin the label of a question's charge; its seal follows."""
    return f"{run.id}/{round}/{answered.digest}/"
