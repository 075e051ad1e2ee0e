"""Whether a report, the files beside it, a ledger, and someone outside agree.

A report may be made up, and a file anything: nothing here fails because of what they hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from .._text import printable
from ..privacy import BaseAccountant, Finding, PrivacyLedger, PrivacyReport, Statement
from ..privacy.checks import CHECKS, MAX_QUOTED, Evidence, anew, differences, run
from ..privacy.parts import is_merged, paid_by, parts_of
from ..privacy.storage import MAX_LENGTH
from ._contents import (
    FILES,
    PAGE,
    REPORT,
    SIGNATURE,
    SUMS,
    arrays_file,
    hash_of_file,
    hashes_in,
    read_arrays,
    read_file,
    sums,
    table,
    table_file,
)
from ._directory import LOCK, instead_of
from ._document import read
from ._facts import account, charged_here, findings_of, guarantee
from ._sections import claim, words
from ._signature import wrong_signature
from ._subject import Subject, rebuilt

LEVELS = (1, 2, 3, 4)

INCOMPLETE = "not reached, because something differs on a lower level."
ODD = "is a link, a pipe or a folder, not a file that skdppca wrote: remove it"
NO_ARCHIVE = "is missing, or is not an archive that holds arrays of a fit only"
NO_SUMS = f"{SUMS} is missing, or is not as skdppca writes it"

# What the ledger's check says of a release, or of a part of one, without a charge.
UNCHARGED = "no ledger was charged for this release"

# Differences of one level in the text.
MOST_SHOWN = 8


@dataclass(frozen=True)
class Verification:
    """What the checks of a release found; as text, one line a level and one for what differs.

    Parameters
    ----------
    reports : tuple of PrivacyReport
        What the fits say of themselves; empty if the report cannot be read.
    findings : tuple of Finding
        Every check, by level.
    levels : tuple of int
        Those that were asked for.
    notes : dict of int to str
        For a level: what it does not say, or why it was left out.
    document : dict
        What ``report.json`` holds; empty if it cannot be read.
    hashes : dict of str to str
        SHA-256 of the files, as listed; empty if the list cannot be read.
    subjects : tuple
        The releases as their arrays give them, as far as there are any.
    """

    reports: tuple[PrivacyReport, ...]
    findings: tuple[Finding, ...]
    levels: tuple[int, ...]
    notes: Mapping[int, str] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    hashes: Mapping[str, str] = field(default_factory=dict, repr=False)
    subjects: tuple[Subject, ...] = field(default=(), repr=False)

    @property
    def passed(self) -> bool:
        """Whether nothing differs on any level that was asked for."""
        return all(finding.passed for finding in self.findings)

    def __str__(self) -> str:
        readable = self.reports and all(one.passed for one in self.findings if one.level == 1)
        lines, agree = claim(self.document) if readable else [], True
        for level in LEVELS:
            wrong = [f for f in self.findings if f.level == level and not f.passed]
            agree = agree and not wrong
            lines.append(f"Level {level} of 4: {self._said(level, agree, bool(wrong))}")
            lines += [f"  {finding.what}: {finding.says}" for finding in wrong[:MOST_SHOWN]]
            if len(wrong) > MOST_SHOWN:
                lines.append(f"  and {len(wrong) - MOST_SHOWN} more differences")
        lines.append(self._last())
        return "\n".join(map(printable, lines))

    def _last(self) -> str:
        """What follows from it, for who must decide."""
        if self.passed:
            return str(words().NEVER_CHECKED)
        wrong = [one.says for one in self.findings if not one.passed]
        if all(says.endswith(UNCHARGED) for says in wrong):
            return str(words().CHARGED_LATER)
        return str(words().NOT_TO_PUBLISH)

    def _said(self, level: int, agree: bool, differs: bool) -> str:
        note = self.notes.get(level, "")
        if level not in self.levels:
            return note
        if not agree:
            return "something differs." if differs else INCOMPLETE
        files = ", these files" if 2 in self.levels else ""
        grown = any(len(one.details.get("cohorts", ())) > 1 for one in self.reports)
        said = {
            1: "this report agrees with itself.",
            2: "this report and these files agree.",
            3: f"this report{files} and this ledger agree{', also on earlier cohorts' * grown}.",
            4: "it agrees with what you hold from outside.",
        }[level]
        return f"{said} {note}".strip()


def verify(
    directory: str | PathLike[str],
    *,
    ledger: BaseAccountant | Statement | str | PathLike[str] | None = None,
    head: str | None = None,
    signer: str | PathLike[str] | None = None,
) -> Verification:
    """Check the files of a release, on as many of four levels as there is something to check by.

    1. The report agrees with itself: its schema, hashes, prices and figures.
    2. The files belong to it: arrays, tables, and all hashes. The page is not compared with the
       report: `render` makes it anew.
    3. The ledger agrees with it: it has the charge and this release, and adds up to its totals.
    4. Something from outside agrees with it: a head of the ledger that you kept, or a signature.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote; or a ``report.json`` alone, whose
        files are not checked then.
    ledger : PrivacyLedger, PrivacyAccountant, Statement, str or path-like, optional
        The ledger that must hold the charges and the releases. It is read once.
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
    >>> found.passed, found.levels
    (True, (1, 2))
    """
    path = Path(directory)
    _check_there(path)
    whole = path.is_dir()
    if head is not None and ledger is None:
        raise ValueError("head needs a ledger to compare with; pass ledger=...")
    head = None if head is None else head.strip().lower()
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError(f"head={head!r} is not a head; pass its 64 digits (0-9, a-f) alone")
    if signer is not None and not whole:
        raise ValueError(
            f"{path} is not a directory, so no signed hashes can lie in it; pass the directory"
        )
    odd = (
        [Finding(1, "files", False, f"{name} {ODD}") for name in _odd_files(path)] if whole else []
    )
    if odd:
        return Verification((), tuple(odd), (1,), {level: INCOMPLETE for level in LEVELS[1:]})
    release = _Release(
        path, whole, _statement(ledger), head, None if signer is None else Path(signer)
    )
    findings = tuple(sorted(_findings(release), key=lambda one: one.level))
    asked = (True, whole, release.statement is not None, release.has_outside)
    levels = tuple(level for level, one in zip(LEVELS, asked, strict=True) if one)
    sound = all(one.passed for one in findings if one.level == 1)
    notes = {2: _on_files(release), 3: _on_ledger(release, sound), 4: _on_outside(release)}
    listed = release.listed or {}
    subjects = tuple(one for one in release.subjects if one is not None)
    return Verification(
        release.reports, findings, levels, notes, release.document, listed, subjects
    )


class _Release:
    """What is verified: a directory or a report alone, and what it is compared with.

    The document is empty, and there are no reports, if the report cannot be read.
    """

    def __init__(
        self,
        path: Path,
        whole: bool,
        statement: Statement | None,
        head: str | None,
        signer: Path | None,
    ) -> None:
        self.path, self.whole = path, whole
        self.statement, self.head, self.signer = statement, head, signer
        text = _text(path / REPORT if whole else path)
        self.document: Mapping[str, Any] = {}
        self.reports: tuple[PrivacyReport, ...] = ()
        self.unread = ""
        try:
            self.document, self.reports = read(text)
        except (TypeError, ValueError, RecursionError) as error:
            self.unread = f"it is no report as skdppca writes it: {str(error)[:MAX_QUOTED]}"
        places = range(len(self.reports))
        self.listed = hashes_in(path) if whole else None
        self.arrays = [
            read_arrays(path / arrays_file(place)) if whole else None for place in places
        ]
        self.subjects = list(map(_subject, self.reports, self.arrays))

    @property
    def has_outside(self) -> bool:
        """Whether there is something from outside to check by."""
        return not (self.head is None and self.signer is None)


def _subject(report: PrivacyReport, arrays: dict[str, Any] | None) -> Subject | None:
    """Return a release as its arrays give it; None if these are none that a fit releases."""
    with suppress(Exception):
        if arrays is not None:
            return rebuilt(report, arrays, np.asarray(arrays.get("feature_names", ())).tolist())
    return None


def _odd_files(path: Path) -> list[str]:
    """Return the names of a release that no plain file has: to read it may never end."""
    names = {SUMS, LOCK, *FILES}
    return sorted(
        one.name
        for one in os.scandir(path)
        if one.name in names and not one.is_file(follow_symlinks=False)
    )


def _text(path: Path) -> str:
    try:
        return read_file(path, MAX_LENGTH).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def _findings(release: _Release) -> Iterator[Finding]:
    """Make all checks that there is something to compare by for."""
    yield from _found(
        1, "schema", "it is a report as skdppca writes it", filter(None, [release.unread])
    )
    statement, document, reports = release.statement, release.document, release.reports
    charged = bool(reports) and statement is not None
    for place, report in enumerate(reports):
        stated = document["fits"][place]["release_id"]
        rows = None if statement is None else statement.chain
        for finding in run(CHECKS, Evidence(report, stated, release.arrays[place], rows)):
            charged = charged and (finding.level < 3 or finding.passed)
            yield finding
    if reports:
        yield from _found(
            1, "figures", "the figures follow from the events", _wrong_figures(release)
        )
    if reports and release.whole:
        yield from _found(2, "files", "", _wrong_numbers(release))
        yield from _found(
            2, "results", "the results follow from the arrays", _wrong_results(release)
        )
    if release.whole:
        yield from _found(2, "files", f"every file has its hash in {SUMS}", _wrong_files(release))
    if charged:
        yield from _found(3, "totals", "the totals are those of the ledger", _wrong_totals(release))
    if release.head is not None:
        agrees = "the ledger has the head that was kept elsewhere"
        yield from _found(4, "head", agrees, _wrong_head(release))
    if release.signer is not None:
        yield from _found(
            4, "signature", "the signature was made with this key", _wrong_signer(release)
        )


def _found(level: int, what: str, agrees: str, differing: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for every difference, or one that there is none, if that is news."""
    wrong = [Finding(level, what, False, one) for one in differing]
    yield from wrong or [Finding(level, what, True, agrees)] * bool(agrees)


# Level 1: the report and itself.


def _wrong_figures(release: _Release) -> Iterator[str]:
    reports = release.reports
    if len({(report.unit, report.adjacency) for report in reports}) > 1:
        yield "its releases have different units or neighbours, so their costs cannot be added"
    elif all(report.delta < 1 for report in reports):  # the check of the price says if not
        yield from differences("guarantee", release.document["guarantee"], guarantee(reports))


# Level 2: the report and its files.


def _wrong_numbers(release: _Release) -> Iterator[str]:
    """Yield which archives and tables do not hold the numbers of the report."""
    for place, subject in enumerate(release.subjects):
        name, tabled = arrays_file(place), table_file(place)
        if subject is None:
            yield f"{name} {NO_ARCHIVE}"
        elif "components" in subject.arrays:
            try:
                expected = table(subject)
                same = read_file(release.path / tabled, len(expected)) == expected
            except (OSError, KeyError, TypeError, ValueError, IndexError):
                same = False
            if not same:
                yield f"{tabled} does not hold exactly the names and numbers of {name}"


def _wrong_results(release: _Release) -> Iterator[str]:
    """Yield what of the results is not what the arrays give."""
    for place, subject in enumerate(release.subjects):
        if subject is None:
            continue
        stated = release.document["fits"][place]["results"]
        try:
            computed = findings_of(subject)
        except Exception:  # of arrays that no fit releases
            yield f"they cannot be computed from {arrays_file(place)}"
            continue
        yield from differences("results", stated, computed, 0.0)


def _wrong_files(release: _Release) -> Iterator[str]:
    """Yield which files are missing, changed, or no part of the release."""
    path, listed = release.path, release.listed
    if listed is None:
        yield NO_SUMS
        return
    expected = {REPORT, PAGE} if release.reports else {*listed} & {*FILES}
    for place, report in enumerate(release.reports):
        tabled = any(one.name == "components" for one in report.released)
        expected |= {arrays_file(place), *[table_file(place)] * tabled}
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
        if one.name not in known and not (one.name == LOCK and one.stat().st_size == 0):
            yield f"{one.name} is not part of the release: remove it before you publish this folder"


# Level 3: the report and a ledger.


def _wrong_totals(release: _Release) -> Iterator[str]:
    stated, statement = release.document["ledger"], release.statement
    assert statement is not None
    if stated is None and all(is_merged(report.details) for report in release.reports):
        return  # its parts may have ledgers of their own
    if stated is None:
        yield (
            "it does not state the totals of the ledger; ask the person who holds the ledger to "
            "write the report again"
        )
        return
    rows, last = stated["rows"], _last_row(statement, release.reports)
    if not last <= rows <= len(statement.chain.rows):
        yield f"its totals are those of row {rows} of the ledger, but its release is in row {last}"
        return
    computed = account(Statement(statement.chain.until(rows)), release.reports)
    yield from differences("ledger", stated, computed)


def _last_row(statement: Statement, reports: Sequence[PrivacyReport]) -> int:
    """Return the last row of a ledger that records one of these releases or their parts."""
    try:
        recorded = [one.release.row for one in charged_here(statement, reports) if one.release]
    except (TypeError, ValueError):  # made up, which level 1 says
        return 0
    return max(recorded, default=0)


# Level 4: someone outside.


def _wrong_head(release: _Release) -> Iterator[str]:
    assert release.statement is not None
    rows = release.statement.chain
    row = next((row for row in range(len(rows.rows) + 1) if rows.head(row) == release.head), None)
    last = _last_row(release.statement, release.reports)
    if row is None:
        yield "no row of the ledger has this head: rows were changed, or it is of another ledger"
    elif row < last:
        yield (
            f"it is the head of row {row}, before the release in row {last}, so it cannot show "
            "that release"
        )


def _wrong_signer(release: _Release) -> Iterator[str]:
    assert release.signer is not None
    wrong = NO_SUMS
    if release.listed is not None:
        wrong = wrong_signature(sums(release.listed), release.path, release.signer)
    yield from filter(None, [wrong])


def _statement(ledger: BaseAccountant | Statement | str | PathLike[str] | None) -> Statement | None:
    """What a ledger holds, all of it verified at this moment."""
    if ledger is None or isinstance(ledger, BaseAccountant | Statement):
        return None if ledger is None else anew(ledger)
    return PrivacyLedger(ledger).statement()  # which reads and verifies every row when it is opened


def agreeing(path: Path) -> Verification:
    """Verify a directory; refuse one whose files do not agree."""
    check_directory(path)
    found = verify(path)
    if not found.passed:
        raise ValueError(
            f"the files of {path} do not agree, so nothing is made of them; to see what differs: "
            f"skdppca verify {quote(str(path))}"
        )
    return found


def check_directory(path: Path) -> None:
    """Refuse a report without its files."""
    _check_there(path)
    if not path.is_dir():
        raise OSError(f"{path} is not a directory; give one that `skdppca fit --out` wrote")


def _check_there(path: Path) -> None:
    """Refuse a directory that is missing because an update was cut short."""
    elsewhere = instead_of(path)
    if elsewhere:
        raise OSError(
            f"{path} is not there: {elsewhere}; give one of these, or finish the update with the "
            f"next --update {path}"
        )


# What a level does not say, or why it was left out.


def _on_files(release: _Release) -> str:
    if not release.whole:
        return "not checked. To check the files, give the directory."
    notes = []
    if release.reports and release.listed is not None:
        ledger = release.document["ledger"] is not None and release.statement is None
        alone = [PAGE, *_alone(release), *["the ledger's totals"] * ledger]
        notes.append(f"Only the hashes in {SUMS} confirm {', '.join(alone)}.")
    if release.signer is None and (release.path / SIGNATURE).exists():
        notes.append(f"{SIGNATURE} was not checked. To check it, give --signer KEY.")
    return " ".join(notes)


def _alone(release: _Release) -> list[str]:
    """Return what follows neither from the arrays nor from what a ledger records."""
    steps = ["the steps of a Pipeline"] if release.document["steps"] else []
    alone = ["the title", *steps, "what was declared"]
    if any(report.feature_names is None for report in release.reports):
        alone.append("the features' names")
    return alone


def _on_ledger(release: _Release, sound: bool) -> str:
    statement, reports = release.statement, release.reports
    agreeing = reports if sound else ()
    if statement is None:
        if any("sites" in report.details for report in reports):
            return "not checked. `skdppca ledger show FILE` at each site should name this release."
        if any(_has_charged_parts(report) for report in agreeing):
            return "not checked. To check the charge of a part, give --ledger FILE of that part."
        if any(report.receipt is None for report in reports):
            return "there is nothing to check, because no ledger was charged."
        return "not checked. To check the charge, give --ledger FILE."
    if not reports:
        return ""
    stated, charges = release.document["ledger"], len(statement.chain.receipts)
    later = 0 if stated is None else charges - stated["n_charges"]
    note = "Not checked: who wrote the ledger."
    if not release.has_outside:
        note += " To find out, ask for its head or a signature through another channel."
    elsewhere = _elsewhere(statement, agreeing)
    if elsewhere:
        note += f" Nor: {', '.join(elsewhere)}. To check a part, give its ledger."
    if later > 0:
        since = "charge was made" if later == 1 else "charges were made"
        spent = statement.spent
        note += (
            f" Since this report {later} more {since}; the total is epsilon {spent.epsilon:.6g} at "
            f"delta {spent.delta:g} now."
        )
    ours = {one.receipt.row for report in reports for one in paid_by(report) if one.receipt}
    seeded = [
        receipt.row
        for receipt in statement.chain.receipts
        if receipt.seeded and receipt.row not in ours
    ]
    if seeded:
        note += f" {words().seeded_charges(seeded)}"
    return note


def _has_charged_parts(report: PrivacyReport) -> bool:
    return any(part.report.receipt is not None for part in parts_of(report))


def _elsewhere(statement: Statement, reports: Sequence[PrivacyReport]) -> list[str]:
    """The parts of merged releases that were charged to other ledgers."""
    own = statement.chain.terms.accountant
    receipts = [part.report.receipt for report in reports for part in parts_of(report)]
    return [
        f"part {number} (ledger {receipt.accountant[:8]})"
        for number, receipt in enumerate(receipts, start=1)
        if receipt is not None and receipt.accountant != own
    ]


def _on_outside(release: _Release) -> str:
    notes = []
    if not release.has_outside:
        return "not checked. To check it, give --head HEX or --signer KEY from someone outside."
    if release.head is not None:
        notes.append("This ledger contains that head.")
        if release.signer is None and release.reports:
            notes.append(f"A head does not cover {', '.join(_alone(release))}. A signature does.")
    if release.signer is not None:
        notes.append(f"{SUMS} is signed by that key.")
    return " ".join([*notes, "Not checked: who gave you the head or the key."])
