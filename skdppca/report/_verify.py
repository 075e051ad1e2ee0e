"""Verification of a release by three questions: its files, its ledger, and someone outside.

A report may be made up, and a file anything: no check fails because of what they hold.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import compress
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any, Literal, cast, get_args

import numpy as np

from .._text import printable
from ..privacy import BaseAccountant, Finding, PrivacyLedger, PrivacyReport, Receipt, Statement
from ..privacy.chain import Chain
from ..privacy.checks import (
    MISSING,
    UNCHARGED,
    Evidence,
    Question,
    anew,
    differences,
    differing,
    unreadable,
)
from ..privacy.parts import is_merged, paid_by, parts_of
from ..privacy.storage import MAX_LENGTH
from ._contents import (
    ARRAYS,
    FILES,
    PAGE,
    PARTS,
    REPORT,
    SIGNATURE,
    SUMS,
    TABLE,
    hash_of_file,
    hashes_in,
    read_arrays,
    read_file,
    read_parts,
    sums,
    table,
)
from ._directory import instead_of
from ._document import account, charges_of, findings_of, read
from ._results import page, results
from ._sections import DIGITS, claim, status_of, words
from ._subject import Subject, merged_again, rebuilt

Ledger = BaseAccountant | Statement | str | PathLike[str]
Status = Literal[
    "private", "unchecked", "open", "uncharged", "not-as-stated", "not-private", "differs"
]

ODD = "is a link, a pipe or a folder, not a file that skdppca wrote: remove it"
GIVE = "give a directory that `skdppca fit --out` wrote"
NOT_REACHED = "Not reached, because the report cannot be read."

# Differences of one question in the text.
MOST_SHOWN = 8
NO_SUMS = f"{SUMS} is missing, or is not as skdppca writes it"

# Two machines that merge the same parts may differ in the last digits, and in those that cancel
# out in sums of larger numbers.
TOLERANCE, CANCELLED = 1e-6, 1e-12

# Letters of a version, at most.
LONGEST_VERSION = 60

# Namespace of a signature, and how to make one.
NAMESPACE = "skdppca"
REMEDY = f"sign with ssh-keygen -Y sign -n {NAMESPACE} -f KEY {SUMS}"

# Bytes of a file with a key, at most; and how a public key begins.
MOST_KEY = 2**16
KINDS = ("ssh-", "ecdsa-", "sk-")

# Seconds; a signature takes milliseconds.
PATIENCE = 30


class Verification:
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
        self.path, self.head, self.signer = path, head, signer
        self.given = [one.chain for one in statements]
        self.chains = {chain.terms.accountant: chain for chain in self.given}
        self.document: Mapping[str, Any] = {}
        self.hashes: Mapping[str, str] = {}
        self.report: PrivacyReport | None = None
        # of what was charged, of a merged release its parts: their reports, and the receipts
        self.paid: list[PrivacyReport] = []
        self.charges: list[Receipt] = []
        self.arrays: dict[str, Any] | None = None
        self.subject: Any = None
        self.findings = tuple(
            Finding("files", "files", f"{one.name} {ODD}")
            for one in sorted(os.scandir(path), key=lambda one: one.name)
            if one.name in (SUMS, *FILES) and not one.is_file(follow_symlinks=False)
        )
        if self.findings:  # to read such a file may never end, so nothing else is checked
            self.head = self.signer = None
        else:
            self._read()
            self.findings += tuple(_findings(self))

    def _read(self) -> None:
        self.hashes = hashes_in(self.path) or {}
        try:
            text = read_file(self.path / REPORT, MAX_LENGTH).decode(errors="replace")
            self.document, self.report = read(text)
        except OSError as error:
            raise OSError(f"{self.path / REPORT}: {error.strerror}; {GIVE}") from None
        except (TypeError, ValueError, RecursionError, ArithmeticError) as error:
            self.findings = (unreadable(error),)
            return
        with suppress(Exception):  # of parts or fits that are made up, which a check says
            self.paid, self.charges = paid_by(self.report), charges_of(self.report)
        self.arrays = read_arrays(self.path / ARRAYS)
        parts = read_parts(self.path / PARTS) if is_merged(self.report.details) else ()
        with suppress(Exception):  # of arrays that no fit releases
            if self.arrays is not None:
                names = np.asarray(self.arrays.get("feature_names", ())).tolist()
                self.subject = rebuilt(self.report, self.arrays, names, parts)

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions that there was something to answer by."""
        read = self.report is not None
        outside = self.signer is not None or (self.head is not None and read)
        return tuple(compress(get_args(Question), (True, read and self.chains, outside)))

    @property
    def notes(self) -> dict[Question, str]:
        """Limits of the answer to each question, or why there is none."""
        return {
            "files": _on_files(self),
            "ledger": _on_ledger(self),
            "outside": _on_outside(self),
        }

    @property
    def agrees(self) -> bool:
        """True if nothing differs, whatever the release states of itself."""
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
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote.
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
        If there is no directory with a report, or `ssh-keygen` is missing.
    LedgerError
        If the ledger cannot be read.
    ValueError
        If `head` comes without a ledger, or `signer` is no public key.

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
    if elsewhere := instead_of(path):
        raise OSError(f"{path} is not there: {elsewhere}; give one of these, or move one to {path}")
    if not path.is_dir():
        raise OSError(f"{path} is not a directory; {GIVE}")
    ledgers = [*ledger] if isinstance(ledger, list | tuple) else [cast(Ledger, ledger)]
    ledgers = [] if ledger is None else ledgers
    head = None if head is None else head.strip().lower()
    if head is not None and not ledgers:
        raise ValueError("head needs a ledger to compare with; pass ledger=...")
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError(f"head={head!r} is not a head; pass its 64 digits (0-9, a-f) alone")
    statements = list(map(_statement, ledgers))
    return Verification(path, statements, head, None if signer is None else Path(signer))


def _statement(ledger: Ledger) -> Statement:
    """Return the statement of a ledger, all of it verified at this moment."""
    if isinstance(ledger, BaseAccountant | Statement):
        return anew(ledger)
    return PrivacyLedger(ledger).statement()  # which reads and verifies every row when it is opened


def agreeing(path: Path) -> Verification:
    """Verify a directory; refuse one whose files do not agree."""
    found = verify(path)
    if not found.agrees:
        raise ValueError(
            f"the files of {path} do not agree, so nothing is made of them; to see what differs: "
            f"skdppca verify {quote(str(path))}"
        )
    return found


def _findings(release: Verification) -> Iterator[Finding]:
    """Yield all that differs, as far as there is something to compare by."""
    yield from _checked("files", "files", lambda: _wrong_files(release))
    report, subject, document = release.report, release.subject, release.document
    if report is not None:
        chains = release.given
        evidence = Evidence(report, document["fit"]["release_id"], release.arrays, chains)
        found = [*_checked("files", "schema", lambda: differing(evidence))]
        yield from found
        # whatever prints the report does so, or this fails
        printed = (claim, partial(page, pictures=()), partial(results, details=True))
        yield from _checked(
            "files", "schema", lambda: str([tell(document) for tell in printed])[:0]
        )
        if subject is None:
            no_archive = f"{ARRAYS} is missing, or is no archive that holds arrays of a fit only"
            yield Finding("files", "files", no_archive)
        else:
            yield from _checked("files", "files", lambda: _wrong_table(release.path, subject))
            yield from _checked("files", "results", lambda: _wrong_results(document, subject))
            yield from _checked("files", "merge", lambda: _wrong_merge(subject))
        if chains and not any(one.question == "ledger" for one in found):
            yield from _checked("ledger", "totals", lambda: _wrong_totals(release, report))
        if release.head is not None:
            yield from _checked("outside", "head", lambda: _wrong_head(release))
    if release.signer is not None:
        for says in _wrong_signature(release, release.signer):
            yield Finding("outside", "signature", says)


def _checked(
    question: Question, what: str, check: Callable[[], Iterable[str | Finding]]
) -> Iterator[Finding]:
    """Yield each difference as a finding; one, too, if values that no release has end a check."""
    try:
        for one in check():
            yield one if isinstance(one, Finding) else Finding(question, what, one)
    except ImportError as error:
        yield Finding(question, what, f"it cannot be checked here: {error}")
    except Exception:
        yield Finding(question, what, "it holds values that cannot be checked")


# Do the files belong together?


def _wrong_files(release: Verification) -> Iterator[str]:
    """Yield which files are missing, changed, or no part of the release."""
    path, listed, report = release.path, release.hashes, release.report
    if not listed:
        yield NO_SUMS
        return
    expected = {*listed} & {*FILES}
    if report is not None:
        expected = {ARRAYS, REPORT, PAGE}
        expected |= {TABLE} if any(one.name == "components" for one in report.released) else set()
        expected |= {PARTS} if is_merged(report.details) else set()
    for name in sorted({*listed, *expected}):
        if name not in expected:
            yield f"{SUMS} lists {name}, which is not part of this release"
        elif not (path / name).is_file():
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{SUMS} does not list {name}"
        elif hash_of_file(path / name) != listed[name]:
            yield f"{name} was changed"
    known = {*listed, *expected, SUMS, SIGNATURE}
    for one in sorted(path.iterdir()):
        if one.name not in known:
            yield f"{one.name} is not part of the release: remove it before you publish this folder"


def _wrong_table(path: Path, subject: Subject) -> Iterator[str]:
    if "components" in subject.arrays:
        expected, stored = table(subject), b""
        with suppress(OSError, ValueError):
            stored = read_file(path / TABLE, len(expected))
        if stored != expected:
            yield f"{TABLE} does not hold exactly the names and numbers of {ARRAYS}"


def _wrong_results(document: Mapping[str, Any], subject: Subject) -> Iterator[str]:
    """Yield what of the results is not what the arrays give."""
    return differences("results", document["results"], findings_of(subject), 0.0)


def _wrong_merge(subject: Subject) -> Iterator[str]:
    """Yield what of a merged release its parts do not give.

    No ledger has a merged release, because nothing is charged for it. So it is computed again.
    """
    if is_merged(subject.report.details):
        wrong = list(_wrong_parts(subject)) or list(_not_merged(subject))
        yield from (f"the parts in {PARTS}: {one}" for one in wrong)


def _wrong_parts(subject: Subject) -> Iterator[str]:
    """Yield which parts have other arrays than their reports describe."""
    for number, part in enumerate(parts_of(subject.report)):
        arrays = subject.parts[number] if number < len(subject.parts) else {}
        if "feature_names" in arrays:
            yield f"part {number + 1}: feature_names is not in the report"
        for finding in differing(Evidence(part.report, part.report.release_id, arrays)):
            yield f"part {number + 1}: {finding.says}"
    if len(subject.parts) > len(parts_of(subject.report)):
        yield "there are more than the report lists"


def _not_merged(subject: Subject) -> Iterator[str]:
    again = merged_again(subject)
    stated, computed = (_described(one.report) for one in (subject, again))
    yield from differences("merge", stated, computed)
    for name, array in again.arrays.items():
        # an axis is compared by its length, and any other number by itself
        within = (0.0, TOLERANCE) if name == "components" else (TOLERANCE, 0.0)
        theirs, most = subject.arrays[name], float(np.max(np.abs(array), initial=0.0))
        near = np.allclose(theirs, array, within[0], within[1] + CANCELLED * most)
        if not (near and np.isfinite(theirs).all()):
            yield f"they do not give the {name} of the release"


def _described(report: PrivacyReport) -> dict[str, Any]:
    """Return what a report says, without the hashes of its arrays and the versions, all short."""
    core = report.core()
    released = [{**one, "sha256": ""} for one in core["released"]]
    software = {
        name: text[LONGEST_VERSION:] if isinstance(text, str) else text
        for name, text in core["software"].items()
    }
    return {**core, "released": released, "software": software}


def _on_files(release: Verification) -> str:
    notes = []
    if release.report is not None and release.hashes:
        stated = release.document["ledger"]
        totals = stated is not None and stated["accountant"] not in release.chains
        alone = [PAGE, *_alone(release), *["the ledger's totals"] * totals]
        notes.append(f"Only the hashes in {SUMS} confirm {', '.join(alone)}.")
    if release.signer is None and (release.path / SIGNATURE).exists():
        notes.append(f"{SIGNATURE} was not checked. To check it, give --signer KEY.")
    return " ".join(notes)


def _alone(release: Verification) -> list[str]:
    """Return what follows neither from the arrays nor from what a ledger records."""
    alone = ["the title", "the steps of a Pipeline", "the shape of images", "what was declared"]
    if release.report is not None and is_merged(release.report.details):
        alone.append("that parts are disjoint")
    if any(report.feature_names is None for report in release.paid):
        alone.append("the features' names")
    return alone


# Does the ledger agree?


def _wrong_totals(release: Verification, report: PrivacyReport) -> Iterator[str]:
    """Yield what the stated totals of one of the ledgers are not."""
    stated = release.document["ledger"]
    paying = {one.accountant for one in release.charges}
    if stated is None:
        if len(paying) == 1 and not is_merged(report.details):
            yield (
                "it does not state the totals of the ledger; ask the person who holds the ledger "
                "to write the report again"
            )
        return
    if stated["accountant"] not in paying:
        yield "its totals are those of a ledger that was not charged for it"
        return
    chain = release.chains[stated["accountant"]]
    rows, last = stated["rows"], _last_row(release, chain)
    if not last <= rows <= len(chain.rows):
        yield f"its totals are those of row {rows} of the ledger, but its release is in row {last}"
        return
    yield from differences("ledger", stated, account(Statement(chain.until(rows)), report))


def _last_row(release: Verification, chain: Chain) -> int:
    """Return the last row of a ledger that records this release or its parts."""
    ours = {one.row for one in release.charges if one.accountant == chain.terms.accountant}
    return max((row.row for row in chain.releases if row.charge in ours), default=0)


def _on_ledger(release: Verification) -> str:
    report, chains = release.report, release.chains
    if report is None:
        return NOT_REACHED
    if not chains:
        if report.details.get("sites"):
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


# Does someone outside vouch?


def _vouched(release: Verification) -> dict[str, int]:
    """Return the accounts whose ledgers have the given head, and the row that it is of."""
    return {
        one.terms.accountant: row
        for one in release.given
        for row in range(len(one.rows) + 1)
        if one.head(row) == release.head
    }


def _wrong_head(release: Verification) -> Iterator[str]:
    if not (vouched := _vouched(release)):
        yield "no row of the ledger has this head: rows were changed, or it is of another ledger"
        return
    ((account, row),) = vouched.items()
    if not (last := _last_row(release, release.chains[account])):
        yield "it is the head of a ledger that records nothing of this release"
    if row < last:
        yield (
            f"it is the head of row {row}, before the release in row {last}, so it cannot show "
            "that release"
        )


def _wrong_signature(release: Verification, signer: Path) -> Iterator[str]:
    """Yield what is wrong with the signature of the hashes, which this public key should verify.

    Raises
    ------
    ValueError, OSError
        If the key is none, or `ssh-keygen` cannot be run.
    """
    key, signature = _public_key(signer), release.path / SIGNATURE
    if not release.hashes:
        yield NO_SUMS
        return
    if not signature.is_file():
        yield f"there is no {SIGNATURE}, so these files are not signed; {REMEDY}"
        return
    with tempfile.TemporaryDirectory() as private:
        allowed = Path(private) / "allowed"
        allowed.write_text(f'signer namespaces="{NAMESPACE}" {key}\n', encoding="utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "signer"]
        command += ["-n", NAMESPACE, "-s", str(signature)]
        signed = sums(release.hashes).encode()
        try:
            done = subprocess.run(command, input=signed, capture_output=True, timeout=PATIENCE)
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            failed = getattr(error, "strerror", f"it took more than {PATIENCE} s")
            raise OSError(
                f"a signature is verified by ssh-keygen, which cannot be run ({failed}); install "
                "OpenSSH 8.1 or newer"
            ) from None
    if done.returncode != 0:
        yield f"{SIGNATURE} is no signature by this key for {NAMESPACE}; {REMEDY}"


def _public_key(path: Path) -> str:
    """Return a public key without its comment."""
    try:
        words = read_file(path, MOST_KEY).decode(errors="replace").split()
    except OSError as error:
        raise OSError(f"{path}: {error.strerror}; give an SSH public key") from None
    if len(words) < 2 or not words[0].startswith(KINDS):
        raise ValueError(
            f"{path} is no SSH public key; give one such as ~/.ssh/id_ed25519.pub, and never the "
            "private key"
        )
    return " ".join(words[:2])


def _on_outside(release: Verification) -> str:
    notes = []
    if release.head is None and release.signer is None:
        return "Not checked. To check it, give --head HEX or --signer KEY from someone outside."
    if release.head is not None:
        notes.append("This ledger contains that head.")
        if others := {one.accountant for one in release.charges} - _vouched(release).keys():
            shown = " and ".join(one[:DIGITS] for one in sorted(others))
            notes.append(f"It does not cover the charges to {shown}.")
        if release.signer is None and release.report is not None:
            notes.append(f"A head does not cover {', '.join(_alone(release))}. A signature does.")
    if release.signer is not None:
        notes.append(f"{SUMS} is signed by that key.")
    return " ".join([*notes, "Not checked: who gave you the head or the key."])
