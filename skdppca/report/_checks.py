"""The checks of a release: its files with each other, with a ledger, and with someone outside.

A report may be made up, and a file anything: nothing here fails because of what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..privacy import Finding, PrivacyReport, Statement
from ..privacy.chain import Chain
from ..privacy.checks import Evidence, differences, differing, unreadable
from ..privacy.grown import all_receipts
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
from ._sections import claim
from ._signature import wrong_signature
from ._subject import Subject, merged_again, rebuilt

NO_ARCHIVE = "is missing, or is not an archive that holds arrays of a fit only"
NO_SUMS = f"{SUMS} is missing, or is not as skdppca writes it"

# What two machines may differ in when they merge the same parts: the last digits, and those that
# cancel out in sums of larger numbers.
TOLERANCE, CANCELLED = 1e-6, 1e-12

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
        statements: Sequence[Statement],
        head: str | None,
        signer: Path | None,
    ) -> None:
        self.path, self.whole = path, whole
        self.head, self.signer = head, signer
        self.chains = {one.chain.terms.accountant: one.chain for one in statements}
        text = _text(path / REPORT if whole else path)
        self.document: Mapping[str, Any] = {}
        self.reports: tuple[PrivacyReport, ...] = ()
        self.unread: Exception | None = None
        try:
            self.document, self.reports = read(text)
        except (TypeError, ValueError, RecursionError, ArithmeticError) as error:
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


def findings(release: Compared) -> list[Finding]:
    """Return all that differs, as far as there is something to compare by."""
    found: list[Finding] = []
    try:
        found.extend(_findings(release))
        if release.reports and not any(one.question == "files" for one in found):
            claim(release.document)
    except ImportError:
        raise
    except Exception:  # of values that no release has
        found.append(Finding("files", "schema", "it holds values that cannot be checked"))
    if release.signer is not None:
        found += [Finding("outside", "signature", one) for one in _wrong_signer(release)]
    return found


def _findings(release: Compared) -> Iterator[Finding]:
    if release.unread is not None:
        yield unreadable(release.unread)
    if release.whole:
        yield from (Finding("files", "files", one) for one in _wrong_files(release))
    reports = release.reports
    charged = bool(reports and release.chains)
    for place, report in enumerate(reports):
        stated = release.document["fits"][place]["release_id"]
        chains = list(release.chains.values())
        for finding in differing(Evidence(report, stated, release.arrays[place], chains)):
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
        if "feature_names" in arrays:
            yield f"part {number + 1}: feature_names is not in the report"
        for finding in differing(Evidence(part.report, part.report.release_id, arrays)):
            yield f"part {number + 1}: {finding.says}"
    if len(subject.parts) > len(parts_of(subject.report)):
        yield "there are more than the report lists"


def _wrong_merge(subject: Subject) -> Iterator[str]:
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
    """Yield what the stated totals of one of the ledgers are not."""
    stated = release.document["ledger"]
    paying = {account for one in release.paid for account in accounts_charged(one)}
    if stated is None:
        if len(paying) == 1 and not any(is_merged(one.details) for one in release.reports):
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
    computed = account(Statement(chain.until(rows)), release.reports)
    yield from differences("ledger", stated, computed)


def _last_row(release: Compared, chain: Chain) -> int:
    """Return the last row of a ledger that records one of these releases or their parts."""
    charges = {
        receipt.row
        for one in release.paid
        for receipt in all_receipts(one.details, one.receipts)
        if receipt.accountant == chain.terms.accountant
    }
    return max((row.row for row in chain.releases if row.charge in charges), default=0)


# Does someone outside vouch?


def _wrong_head(release: Compared) -> Iterator[str]:
    for chain in release.chains.values():
        for row in range(len(chain.rows) + 1):
            if chain.head(row) == release.head:
                last = _last_row(release, chain)
                if row < last:
                    yield (
                        f"it is the head of row {row}, before the release in row {last}, so it "
                        "cannot show that release"
                    )
                return
    yield "no row of the ledger has this head: rows were changed, or it is of another ledger"


def _wrong_signer(release: Compared) -> Iterator[str]:
    assert release.signer is not None
    wrong = NO_SUMS
    if release.listed is not None:
        wrong = wrong_signature(sums(release.listed), release.path, release.signer)
    yield from filter(None, [wrong])
