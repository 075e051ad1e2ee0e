"""Verification of a release: its files, its ledger, and someone outside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Literal, cast, get_args

from .._text import printable
from ..privacy import BaseAccountant, PrivacyLedger, Statement
from ..privacy.checks import MISSING, UNCHARGED, Question, anew
from ..privacy.parts import is_merged
from ._checks import Compared, findings
from ._contents import PAGE, SIGNATURE, SUMS
from ._directory import instead_of
from ._sections import claim, status_of, words

Ledger = BaseAccountant | Statement | str | PathLike[str]
Status = Literal[
    "private", "unchecked", "open", "uncharged", "not-as-stated", "not-private", "differs"
]

NOT_REACHED = "Not reached, because the report cannot be read."

# Differences of one question in the text.
MOST_SHOWN = 8


class Verification(Compared):
    """The answers to three questions about a release; as text, a line each.

    Attributes
    ----------
    report : PrivacyReport or None
        What the fit says of itself; None if it cannot be read.
    findings : tuple of Finding
        All that differs.
    document : dict
        What ``report.json`` holds; empty if it cannot be read.
    hashes : dict of str to str
        SHA-256 of the files, as listed; empty if the list cannot be read.
    subject : Subject or None
        The release as its arrays give it, if they do.
    """

    def __init__(
        self, path: Path, statements: Sequence[Statement], head: str | None, signer: Path | None
    ) -> None:
        super().__init__(path, statements, head, signer)
        self.findings = tuple(findings(self))

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions that there was something to answer by."""
        read = self.report is not None
        outside = self.signer is not None or (self.head is not None and read)
        return tuple(compress(get_args(Question), (True, read and self.chains, outside)))

    @property
    def notes(self) -> dict[Question, str]:
        """What the answer to each question leaves out, or why there is none."""
        return {
            "files": _on_files(self),
            "ledger": _on_ledger(self),
            "outside": _on_outside(self),
        }

    @property
    def agrees(self) -> bool:
        """Whether nothing differs, whatever the release says of itself."""
        return not self.findings

    @property
    def status(self) -> Status:
        """The state of the release: a private one agrees with all ledgers that it charged."""
        kinds = {one.what for one in self.findings}
        if self.report is None or kinds - {UNCHARGED, MISSING}:
            return "differs"
        status = status_of(self.document)
        if status == "not-private":
            return "not-private"
        if UNCHARGED in kinds or status == "uncharged":
            return "uncharged"
        if status == "not-as-stated" or (status == "open" and not kinds):
            return cast(Status, status)
        return "private" if "ledger" in self.asked and not kinds else "unchecked"

    def __str__(self) -> str:
        say, notes, kinds = words(), self.notes, {one.what for one in self.findings}
        readable = self.report and not any(one.question == "files" for one in self.findings)
        lines = claim(self.document) if readable else []
        for question, asks in say.VERIFIED.items():
            wrong = [one for one in self.findings if one.question == question]
            answer = "Yes. " if question in self.asked else ""
            answer = "Not in full." if wrong else f"{answer}{notes[question]}"
            answer = "No." if any(one.what != MISSING for one in wrong) else answer
            lines.append(f"{asks} {answer}".rstrip())
            lines += [f"  {one.what}: {one.says}" for one in wrong[:MOST_SHOWN]]
            if len(wrong) > MOST_SHOWN:
                lines.append(f"  and {len(wrong) - MOST_SHOWN} more differences")
        lasts = {
            (): say.NEVER_CHECKED,
            (UNCHARGED,): say.CHARGED_LATER,
            (MISSING,): say.OTHER_LEDGERS,
        }
        lines += [lasts.get((*kinds,), say.NOT_TO_PUBLISH), f"status: {self.status}"]
        return "\n".join(map(printable, lines))


def verify(
    directory: str | PathLike[str],
    *,
    ledger: Ledger | Sequence[Ledger] | None = None,
    head: str | None = None,
    signer: str | PathLike[str] | None = None,
) -> Verification:
    """Check a release by three questions, as far as there is something to answer them by.

    1. Do the files belong together? The report agrees with itself, with its arrays and with all
       hashes. What is derived is computed again: prices, results, and a merged release from the
       arrays of its parts. The page is not compared with the report: `render` makes it anew.
    2. Does the ledger agree? It has the charge and this release, and adds up to its totals.
    3. Does someone outside vouch? A head of the ledger that you kept, or a signature.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote; or a ``report.json`` alone, whose
        files are not checked then.
    ledger : PrivacyLedger, PrivacyAccountant, Statement, str, path-like, or list, optional
        The ledgers that must hold the charges and the releases. Each is read once.
    head : str, optional
        A head of the ledger, 64 hexadecimal digits, that its owner could not change: from an
        earlier report, an e-mail, a notary.
    signer : str or path-like, optional
        An SSH public key. The owner of the private key must have signed the hashes:
        ``ssh-keygen -Y sign -n skdppca -f KEY SHA256SUMS``.

    Returns
    -------
    Verification

    Raises
    ------
    OSError
        If there is no report, or `ssh-keygen` is missing.
    LedgerError
        If the ledger cannot be read.
    ValueError
        If `head` comes without a ledger, or `signer` without a directory.

    Notes
    -----
    No check can tell whether the noise was drawn as stated, whether what was declared public is
    public, what was fitted on the data before, or what was released without a charge.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.report import ReleaseReport, verify
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = ReleaseReport(pca, pictures=False).write(f"{folder}/release")
    ...     found = verify(f"{folder}/release")
    >>> found.status, found.asked
    ('uncharged', ('files',))
    """
    path = Path(directory)
    check_directory(path, report=True)
    ledgers = [*ledger] if isinstance(ledger, list | tuple) else [cast(Ledger, ledger)]
    ledgers = [] if ledger is None else ledgers
    head = None if head is None else head.strip().lower()
    if head is not None and not ledgers:
        raise ValueError("head needs a ledger to compare with; pass ledger=...")
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError(f"head={head!r} is not a head; pass its 64 digits (0-9, a-f) alone")
    if signer is not None and not path.is_dir():
        raise ValueError(
            f"{path} is not a directory, so no signed hashes can lie in it; pass the directory"
        )
    statements = list(map(_statement, ledgers))
    return Verification(path, statements, head, None if signer is None else Path(signer))


def _statement(ledger: Ledger) -> Statement:
    """What a ledger holds, all of it verified at this moment."""
    if isinstance(ledger, BaseAccountant | Statement):
        return anew(ledger)
    return PrivacyLedger(ledger).statement()  # which reads and verifies every row when it is opened


def agreeing(path: Path) -> Verification:
    """Verify a directory; refuse one whose files do not agree."""
    check_directory(path)
    found = verify(path)
    if not found.agrees:
        raise ValueError(
            f"the files of {path} do not agree, so nothing is made of them; to see what differs: "
            f"skdppca verify {quote(str(path))}"
        )
    return found


def check_directory(path: Path, report: bool = False) -> None:
    """Refuse a release that an update cut short has moved; and a report alone, unless allowed."""
    if elsewhere := instead_of(path):
        raise OSError(f"{path} is not there: {elsewhere}; give one of these, or move one to {path}")
    if not (report or path.is_dir()):
        raise OSError(f"{path} is not a directory; give one that `skdppca fit --out` wrote")


# What an answer leaves out, or why there is none.


def _on_files(release: Compared) -> str:
    if not release.whole:
        return "Only the report was checked. To check the files, give the directory."
    notes = []
    if release.report is not None and release.hashes:
        stated = release.document["ledger"]
        totals = stated is not None and stated["accountant"] not in release.chains
        alone = [PAGE, *_alone(release), *["the ledger's totals"] * totals]
        notes.append(f"Only the hashes in {SUMS} confirm {', '.join(alone)}.")
    if release.signer is None and (release.path / SIGNATURE).exists():
        notes.append(f"{SIGNATURE} was not checked. To check it, give --signer KEY.")
    return " ".join(notes)


def _alone(release: Compared) -> list[str]:
    """Return what follows neither from the arrays nor from what a ledger records."""
    alone = ["the title", "the steps of a Pipeline", "the shape of images", "what was declared"]
    if release.report is not None and is_merged(release.report.details):
        alone.append("that parts are disjoint")
    if any(report.feature_names is None for report in release.paid):
        alone.append("the features' names")
    return alone


def _on_ledger(release: Compared) -> str:
    report, chains = release.report, release.chains
    if report is None:
        return NOT_REACHED
    if not chains:
        if "sites" in report.details:
            return "Not checked. `skdppca ledger show FILE` at each site should name this release."
        if not release.charges:
            return "There is nothing to check, because no ledger was charged."
        return "Not checked. To check the charges, give each ledger: --ledger FILE."
    note = "Not checked: who wrote the ledger."
    if release.head is None and release.signer is None:
        note += " To find out, ask for its head or a signature through another channel."
    ours = {(one.accountant, one.row) for one in release.charges}
    rows = [one for chain in chains.values() for one in chain.receipts if one.seeded]
    seeded = [one.row for one in rows if (one.accountant, one.row) not in ours]
    return f"{note} {words().seeded_charges(seeded)}" if seeded else note


def _on_outside(release: Compared) -> str:
    notes = []
    if release.head is None and release.signer is None:
        return "Not checked. To check it, give --head HEX or --signer KEY from someone outside."
    if release.head is not None:
        notes.append("This ledger contains that head.")
        if release.signer is None and release.report is not None:
            notes.append(f"A head does not cover {', '.join(_alone(release))}. A signature does.")
    if release.signer is not None:
        notes.append(f"{SUMS} is signed by that key.")
    return " ".join([*notes, "Not checked: who gave you the head or the key."])
