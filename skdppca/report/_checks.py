"""The checks of a release: its files with each other, with a ledger, and with someone outside.

A report may be made up, and a file anything: nothing here fails because of what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..privacy import Finding, PrivacyReport, Statement
from ..privacy.checks import Evidence, differences, differing, unreadable
from ..privacy.parts import accounts_charged, is_merged, paid_by, parts_of
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
    parts_file,
    read_arrays,
    read_file,
    read_parts,
    sums,
    table,
    table_file,
)
from ._document import read
from ._facts import account, findings_of, guarantee
from ._signature import wrong_signature
from ._subject import Subject, merged_again, rebuilt

NO_ARCHIVE = "is missing, or is not an archive that holds arrays of a fit only"
NO_SUMS = f"{SUMS} is missing, or is not as skdppca writes it"

# What two machines may differ in when they merge the same parts: the last digits of the arrays, by
# the largest entry, and of what the report says of them.
TOLERANCE = 1e-6

# Letters of a version, at most.
LONGEST_VERSION = 60


class Compared:
    """A directory or a report alone, and the evidence that it is compared with.

    The document is empty, and there are no reports, if the report cannot be read. `paid` are the
    reports of what was charged: of a merged release its parts.
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
        self.unread: Exception | None = None
        try:
            self.document, self.reports = read(text)
        except (TypeError, ValueError, RecursionError) as error:
            self.unread = error
        self.paid: list[PrivacyReport] = []
        with suppress(TypeError, ValueError):  # parts that are made up, which a check says
            self.paid = [one for report in self.reports for one in paid_by(report)]
        self.listed = hashes_in(path) if whole else None
        self.arrays = [
            read_arrays(path / arrays_file(place)) if whole else None
            for place in range(len(self.reports))
        ]
        self.subjects = [self._subject(place) for place in range(len(self.reports))]

    def _subject(self, place: int) -> Subject | None:
        """Return a release as its arrays give it; None if these are none that a fit releases."""
        report, arrays = self.reports[place], self.arrays[place]
        parts = read_parts(self.path / parts_file(place)) if is_merged(report.details) else ()
        with suppress(Exception):
            if arrays is not None:
                names = np.asarray(arrays.get("feature_names", ())).tolist()
                return rebuilt(report, arrays, names, parts)
        return None


def _text(path: Path) -> str:
    try:
        return read_file(path, MAX_LENGTH).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def findings(release: Compared) -> Iterator[Finding]:
    """Yield all that differs, as far as there is something to compare by."""
    if release.unread is not None:
        yield unreadable(release.unread)
    if release.whole:
        yield from (Finding("files", "files", one) for one in _wrong_files(release))
    statement, reports = release.statement, release.reports
    charged = bool(reports) and statement is not None
    for place, report in enumerate(reports):
        stated = release.document["fits"][place]["release_id"]
        chain = None if statement is None else statement.chain
        for finding in differing(Evidence(report, stated, release.arrays[place], chain)):
            charged = charged and finding.question != "ledger"
            yield finding
    if reports:
        yield from (Finding("files", "figures", one) for one in _wrong_figures(release))
    if reports and release.whole:
        yield from (Finding("files", "files", one) for one in _wrong_numbers(release))
        yield from (Finding("files", "results", one) for one in _wrong_results(release))
        yield from (Finding("files", "merge", one) for one in _wrong_merges(release))
    if charged:
        yield from (Finding("ledger", "totals", one) for one in _wrong_totals(release))
    if reports and release.head is not None:
        yield from (Finding("outside", "head", one) for one in _wrong_head(release))
    if release.signer is not None:
        yield from (Finding("outside", "signature", one) for one in _wrong_signer(release))


# Do the files belong together?


def _wrong_figures(release: Compared) -> Iterator[str]:
    reports = release.reports
    if len({(report.unit, report.adjacency) for report in reports}) > 1:
        yield "its releases have different units or neighbours, so their costs cannot be added"
    elif all(report.delta < 1 for report in reports):  # the check of the price says if not
        yield from differences("guarantee", release.document["guarantee"], guarantee(reports))


def _wrong_numbers(release: Compared) -> Iterator[str]:
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


def _wrong_results(release: Compared) -> Iterator[str]:
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


def _wrong_merges(release: Compared) -> Iterator[str]:
    """Yield what of merged releases their parts do not give.

    No ledger has a merged release, because nothing is charged for it. So it is computed again.
    """
    for place, subject in enumerate(release.subjects):
        if subject is None or not is_merged(subject.report.details):
            continue
        name = parts_file(place)
        try:
            wrong = list(_wrong_parts(subject)) or list(_wrong_merge(subject))
        except Exception:  # of parts that are made up
            wrong = ["they cannot be merged"]
        yield from (f"the parts in {name}: {one}" for one in wrong)


def _wrong_parts(subject: Subject) -> Iterator[str]:
    """Yield which parts have other arrays than their reports describe."""
    for number, part in enumerate(parts_of(subject.report)):
        arrays = subject.parts[number] if number < len(subject.parts) else {}
        for finding in differing(Evidence(part.report, part.report.release_id, arrays)):
            yield f"part {number + 1}: {finding.says}"
    if len(subject.parts) > len(parts_of(subject.report)):
        yield "there are more than the report lists"


def _wrong_merge(subject: Subject) -> Iterator[str]:
    again = merged_again(subject)
    stated, computed = (_described(one.report) for one in (subject, again))
    yield from differences("merge", stated, computed)
    for name, array in again.arrays.items():
        largest = float(np.max(np.abs(array), initial=0.0))
        theirs = subject.arrays[name]
        if not np.allclose(array, theirs, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True):
            yield f"they do not give the {name} of the release"


def _described(report: PrivacyReport) -> dict[str, Any]:
    """Return what a report says, without the hashes of its arrays and the versions, all short."""
    core = report.core()
    released = [{**one, "sha256": ""} for one in core["released"]]
    software = {name: str(text)[LONGEST_VERSION:] for name, text in core["software"].items()}
    return {**core, "released": released, "software": software}


def _wrong_files(release: Compared) -> Iterator[str]:
    """Yield which files are missing, changed, or no part of the release."""
    path, listed = release.path, release.listed
    if listed is None:
        yield NO_SUMS
        return
    expected = {REPORT, PAGE} if release.reports else {*listed} & {*FILES}
    for place, report in enumerate(release.reports):
        tabled = any(one.name == "components" for one in report.released)
        expected |= {arrays_file(place), *[table_file(place)] * tabled}
        expected |= {parts_file(place)} if is_merged(report.details) else set()
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


# Does the ledger agree?


def _wrong_totals(release: Compared) -> Iterator[str]:
    stated, statement = release.document["ledger"], release.statement
    assert statement is not None
    own = statement.chain.terms.accountant
    paying = {account for one in release.paid for account in accounts_charged(one)}
    if (stated is None or stated["accountant"] != own) and len(paying) > 1:
        return  # it states the totals of one ledger at most
    if stated is None and all(is_merged(report.details) for report in release.reports):
        return
    if stated is None:
        yield (
            "it does not state the totals of the ledger; ask the person who holds the ledger to "
            "write the report again"
        )
        return
    rows, last = stated["rows"], _last_row(release, own)
    if not last <= rows <= len(statement.chain.rows):
        yield f"its totals are those of row {rows} of the ledger, but its release is in row {last}"
        return
    computed = account(Statement(statement.chain.until(rows)), release.reports)
    yield from differences("ledger", stated, computed)


def _last_row(release: Compared, account: str) -> int:
    """Return the last row of an account that records one of these releases or their parts."""
    recorded = [row for one in release.paid for row in one.releases if row.accountant == account]
    return max((row.row for row in recorded), default=0)


# Does someone outside vouch?


def _wrong_head(release: Compared) -> Iterator[str]:
    assert release.statement is not None
    rows = release.statement.chain
    row = next((row for row in range(len(rows.rows) + 1) if rows.head(row) == release.head), None)
    last = _last_row(release, rows.terms.accountant)
    if row is None:
        yield "no row of the ledger has this head: rows were changed, or it is of another ledger"
    elif row < last:
        yield (
            f"it is the head of row {row}, before the release in row {last}, so it cannot show "
            "that release"
        )


def _wrong_signer(release: Compared) -> Iterator[str]:
    assert release.signer is not None
    wrong = NO_SUMS
    if release.listed is not None:
        wrong = wrong_signature(sums(release.listed), release.path, release.signer)
    yield from filter(None, [wrong])
