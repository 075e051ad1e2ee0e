"""The table of all that is checked of a release's files, and what each check compares.

A report may be made up, and a file anything: nothing here fails because of what they hold.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain, takewhile
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..decomposition.fitted import MATRIX, matrix_of
from ..privacy import PrivacyReport, Statement
from ..privacy.checks import CHECKS as OF_ONE
from ..privacy.checks import SCHEMA, Check, Evidence, Examined, differences
from ..privacy.parts import is_merged
from ..privacy.storage import MAX_LENGTH, parse_json
from ._archive import read_archive
from ._contents import (
    FILES,
    MOST,
    PAGE,
    SIGNATURE,
    arrays_file,
    as_json,
    table_file,
    write_table,
)
from ._directory import LOCK, MANIFEST, REPORT, SUMS, manifest, sums
from ._document import SCHEMA as FORM
from ._document import check_schema, in_order, reports_of
from ._facts import account, charged_here, findings_of, guarantee
from ._page import page
from ._plain import is_plain, read_plain
from ._redrawn import Pictures
from ._signature import MOST_SIGNED, is_signature, wrong_signature
from ._sizes import archived, most_bytes
from ._subject import Subject, rebuilt

# The check of one release by its ledger.
(LEDGER,) = (check for check in OF_ONE if check.level == 3)

NO_ARCHIVE = "is missing, or is not an archive that holds arrays only"

# Bytes of a manifest, at most: it has a hash for each of some ten names.
MOST_LISTED = 2**16


@dataclass(frozen=True)
class Fit(Evidence):
    """What one release in a report is checked by.

    Parameters
    ----------
    subject : Subject or None
        As it comes back from its arrays; None without an archive of them.
    table : bytes
        Of the arrays, written again.
    """

    subject: Subject | None = None
    table: bytes = b""


@dataclass(frozen=True)
class ReleaseFiles(Examined):
    """What a report and the files beside it are checked by; files are read when they are needed.

    Parameters
    ----------
    path : Path
        A directory, or a report alone.
    whole : bool
        Whether it is a directory.
    text : str
        Of the report.
    document : dict
        What the text says; empty if it is no report.
    reports : tuple of PrivacyReport
        Those of the document; empty if it is no report.
    statement : Statement or None
        The ledger.
    head : str or None
    signer : Path or None
    """

    path: Path
    whole: bool
    text: str
    document: Mapping[str, Any]
    reports: tuple[PrivacyReport, ...]
    statement: Statement | None
    head: str | None
    signer: Path | None

    @classmethod
    def read(
        cls, path: Path, statement: Statement | None, head: str | None, signer: Any
    ) -> ReleaseFiles:
        """Read the report; what it says may be no report."""
        whole = path.is_dir()
        text = _text(path / REPORT if whole else path, MAX_LENGTH, links=not whole)
        document, reports, unread = _read(text)
        key = None if signer is None else Path(signer)
        return cls(path, whole, text, document, reports, statement, head, key, unread=unread)

    @property
    def has_outside(self) -> bool:
        """Whether there is something from outside to check by."""
        return not (self.head is None and self.signer is None)

    @cached_property
    def listed(self) -> dict[str, str] | None:
        """The files' hashes by the manifest; None if it is missing or none."""
        return _hashes_in(self.path / MANIFEST) if self.whole else None

    @cached_property
    def most(self) -> Mapping[str, int]:
        """How many bytes each file of the release can have, by its name."""
        if self.reports:
            return most_bytes(self.document, self.reports, len(self.text))
        # as far as can be told without a report
        there = {name for name in FILES if name != SIGNATURE and (self.path / name).is_file()}
        expected = {*there, *(self.listed or ()), arrays_file(0), REPORT, PAGE}
        return dict.fromkeys(expected, MAX_LENGTH)

    @cached_property
    def _but_tables(self) -> dict[str, bytes]:
        tables = {table_file(place) for place in range(len(self.reports))}
        return _held(self.path, {n: size for n, size in self.most.items() if n not in tables})

    @cached_property
    def fits(self) -> list[Fit]:
        """Each of the releases; with arrays, as far as there are any."""
        found, rows = [], None if self.statement is None else self.statement.chain
        for place, report in enumerate(self.reports):
            stated = self.document["fits"][place]["release_id"]
            arrays = _arrays(self._but_tables.get(arrays_file(place))) if self.whole else None
            subject, table = None, b""
            if arrays is not None:
                names = np.asarray(arrays.get("feature_names", ())).tolist()
                subject = rebuilt(report, arrays, names)
                table = _table(subject)
            found.append(Fit(report, stated, arrays, rows, subject, table))
        return found

    @cached_property
    def held(self) -> dict[str, bytes]:
        """What the files hold that are there, and no larger than they can be; each is read once."""
        most = {
            table_file(place): self.most.get(table_file(place), 0)
            if one.subject is None
            else len(one.table)
            for place, one in enumerate(self.fits)
        }
        return self._but_tables | _held(self.path, most)

    @cached_property
    def pictures(self) -> Pictures:
        """The pictures, to be drawn again; none without files."""
        return Pictures(self._but_tables, self.document) if self.whole else Pictures({}, {})

    @property
    def subjects(self) -> list[Subject]:
        """The releases as they come back from their arrays."""
        return [one.subject for one in self.fits if one.subject is not None]

    @property
    def is_report(self) -> bool:
        """Whether the report could be read."""
        return bool(self.reports)

    @property
    def has_files(self) -> bool:
        """Whether it could, and there are files beside it."""
        return self.whole and self.is_report

    @property
    def has_arrays(self) -> bool:
        """Whether the arrays of all releases are among these."""
        return self.has_files and len(self.subjects) == len(self.reports)

    @property
    def is_ours(self) -> bool:
        """Whether there are files that this version of skdppca can write again."""
        return self.has_files and is_ours(self.document)

    @property
    def is_charged(self) -> bool:
        """Whether the ledger has every release."""
        agrees = all(finding.passed for finding in self.findings if finding.level == 3)
        return self.is_report and self.statement is not None and agrees


# Reading.


def odd_files(path: Path) -> list[str]:
    """Names of a release that no plain file has: to read it may never end, or lead elsewhere."""
    names = (MANIFEST, SUMS, LOCK, *FILES)
    return [name for name in names if os.path.lexists(path / name) and not is_plain(path / name)]


def _text(path: Path, most: int, links: bool = False) -> str:
    """The text of a file."""
    try:
        return read_plain(path, most, links=links).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def _read(text: str) -> tuple[dict[str, Any], tuple[PrivacyReport, ...], str]:
    """The document and its fits' reports; or nothing, and why."""
    try:
        document = parse_json(text)
        wrong = None if isinstance(document, dict) else "it is no mapping"
        if wrong is None and document.get("schema") != FORM:
            wrong = f"its schema is {str(document.get('schema'))[:40]!r}, and not {FORM!r}"
        wrong = wrong or check_schema(document)
        if wrong is None and len(document["fits"]) > MOST:
            wrong = f"it has more than {MOST} fits"
        if wrong is None:
            reports = tuple(reports_of(document))
            for report in reports:
                archived(report.released, report.feature_names)
            return document, reports, ""
    except (TypeError, ValueError, RecursionError) as error:
        wrong = str(error)
    return {}, (), wrong


def _held(path: Path, most: Mapping[str, int]) -> dict[str, bytes]:
    """What the files hold that are there, and no larger than that."""
    found = {}
    for name, size in most.items():
        with suppress(OSError):
            found[name] = read_plain(path / name, size)
    return found


def _arrays(content: bytes | None) -> dict[str, Any] | None:
    """All arrays of an archive; None if it is missing or none, whatever is wrong with it."""
    try:
        return None if content is None else read_archive(content)
    except (ValueError, MemoryError):
        return None


def _hashes_in(path: Path) -> dict[str, str] | None:
    """The files' hashes in a manifest, by name; None if it is missing or none."""
    try:
        text = _text(path, MOST_LISTED)
        listed = parse_json(text)["files"]
        written = text == manifest(listed) and all(
            isinstance(digest, str) and Path(name).name == name != ""
            for name, digest in listed.items()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return listed if written else None


# Level 1: the report and itself.


def _wrong_text(release: ReleaseFiles) -> Iterator[str]:
    """Whether it has white space, an order or forms of numbers of its own."""
    try:
        same = release.text == as_json(in_order(release.document, release.reports))
    except ValueError:  # a number that JSON cannot hold
        same = False
    if not same:
        yield "its text is not as skdppca writes it: spaces, order or the form of numbers differ"


def _wrong_figures(release: ReleaseFiles) -> Iterator[str]:
    reports = release.reports
    if len({(report.unit, report.adjacency) for report in reports}) > 1:
        yield "its releases have different units or neighbours, so their costs cannot be added"
    elif all(report.delta < 1 for report in reports):  # the check of the price says if not
        yield from differences("guarantee", release.document["guarantee"], guarantee(reports))


# Level 2: the report and its files.


def _wrong_numbers(release: ReleaseFiles) -> Iterator[str]:
    """What the files with numbers in them lack, and whether they differ from each other."""
    for place, one in enumerate(release.fits):
        name, tabled = arrays_file(place), table_file(place)
        if one.arrays is None:
            yield f"{name} {NO_ARCHIVE}"
            continue
        released = [each.name for each in one.report.released]
        names = one.arrays.get("feature_names")
        if names is not None and (names.ndim != 1 or names.dtype.kind != "U"):
            yield f"the feature_names in {name} are not a list of names"
        expected = [*released, *["feature_names"] * (names is not None)]
        if {*one.arrays} == {*expected} and list(one.arrays) != expected:
            yield f"the arrays in {name} are not in the order of {REPORT}"
        if "components" in released and (not one.table or release.held.get(tabled) != one.table):
            there = (release.path / tabled).is_file()
            how = f"does not hold exactly the names and numbers of {name}"
            yield f"{tabled} {how if there else 'is missing'}"


def _table(subject: Subject) -> bytes:
    """The table of a release, written again; empty if its arrays are none of a fit."""
    file = io.BytesIO()
    try:
        write_table(subject, file)
    except (KeyError, TypeError, ValueError, IndexError):
        return b""
    return file.getvalue()


def _wrong_results(release: ReleaseFiles) -> Iterator[str]:
    """What of the results is not what the arrays give."""
    try:
        computed = [findings_of(subject) for subject in release.subjects]
    except Exception:  # arrays that are none of a fit, which another check says
        return
    stated = [fit["results"] for fit in release.document["fits"]]
    yield from differences("results", stated, computed, 0.0)


def _wrong_matrix(release: ReleaseFiles) -> Iterator[str]:
    """Whether a noisy matrix, if there is one, is none that a fit can have released."""
    for subject in release.subjects:
        if not any(name.startswith(MATRIX) for name in subject.arrays) or subject.fitted is None:
            continue
        try:
            matrix = matrix_of(subject.fitted)
        except (TypeError, ValueError) as error:
            yield str(error)
            continue
        assert matrix is not None
        numbers = (matrix.noise_sd, matrix.n_rows, matrix.n_records, matrix.weight)
        if len(matrix.mean) != np.shape(subject.arrays["components"])[-1]:
            yield "the matrix does not have as many columns as the components"
        elif not np.isfinite(matrix.scatter).all() or not np.isfinite(numbers).all():
            yield "the matrix, or a number stored with it, is not finite"
        elif not np.array_equal(matrix.scatter, matrix.scatter.T):
            yield "the matrix is not symmetric"


def is_ours(document: Mapping[str, Any]) -> bool:
    """Whether this version of skdppca wrote it, so that it can write the page again."""
    return all(fit["core"]["software"].get("skdppca") == __version__ for fit in document["fits"])


def _wrong_page(release: ReleaseFiles) -> Iterator[str]:
    """Whether the page says what the report says: it is written again."""
    document, held, pictures = release.document, release.held, release.pictures
    if not is_ours(document) or pictures.missing:
        return
    try:
        written = pages(document, held)
        differ = [name for name in written if held.get(name, b"") != written[name].encode()]
    except ImportError:
        raise
    except Exception:  # made up, so that the page's words have no place for it
        differ = [PAGE]
    for name in differ:
        shown = ", or shows pictures that are not those of this folder" if name == PAGE else ""
        there = (release.path / name).is_file()
        yield f"{name} " + (f"does not say what {REPORT} says{shown}" if there else "is missing")


def pages(document: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, str]:
    """The page of a report, by its name; `files` has its pictures."""
    pictures = {
        one["name"]: files[f"{one['name']}.svg"].decode(errors="replace")
        for one in document["pictures"]
    }
    return {PAGE: page(document, pictures)}


def _wrong_checks(release: ReleaseFiles) -> Iterator[str]:
    """Whether the checks that the report states are those that were made, and came out so."""
    document, of_one = release.document, {check.what for check in OF_ONE}
    differing = any(not one.passed and one.what in of_one for one in release.findings)
    if not is_ours(document) or differing:
        return  # other words, or what differs is said already
    stated, expected = document["checks"], list[dict[str, Any]]()
    for one in release.fits:
        made = [check for check in (SCHEMA, *OF_ONE) if check.level < 3 and check.given(one)]
        expected += [asdict(check.finding()) for check in made]
        if one.report.receipt is not None and document["ledger"] is not None:
            # what a ledger lacked cannot be seen without it; it costs the page its guarantee
            lacked = [*takewhile(_is_lack, stated[len(expected) :])]
            expected += lacked or [asdict(LEDGER.finding())]
    if stated != expected:
        yield "the checks that it lists are not the checks that skdppca makes of it"


def states_lacks(document: Mapping[str, Any]) -> bool:
    """Whether a report states that its ledger lacked something."""
    return any(map(_is_lack, document["checks"]))


def _is_lack(stated: Mapping[str, Any]) -> bool:
    """Whether a check that a report states is that a ledger lacks something."""
    return (stated["level"], stated["what"], stated["passed"]) == (LEDGER.level, LEDGER.what, False)


def _unknown_pictures(release: ReleaseFiles) -> Iterator[str]:
    """Which pictures this release cannot have."""
    known = {"privacy", "ledger"}
    for place, report in enumerate(release.reports):
        number = str(place + 1) if place else ""
        released = {one.name for one in report.released}
        known |= {f"scree{number}"} if "explained_variance" in released else set()
        if "components" in released:
            known |= {f"loadings{number}", f"components{number}"}
    names = [picture["name"] for picture in release.document["pictures"]]
    for name in sorted({*names}):
        if name not in known or names.count(name) > 1:
            yield f"{name}.svg is not a picture of this release, or is listed twice"
        elif name.startswith("components") and name.replace("components", "loadings") in names:
            yield f"{name}.svg is a second picture of the same components"


def _wrong_pictures(release: ReleaseFiles) -> Iterator[str]:
    """What is drawn otherwise than it follows from the arrays."""
    return release.pictures.differ(release.subjects)


def _wrong_files(release: ReleaseFiles) -> Iterator[str]:
    """Which files are missing, changed, or no part of the release, by report and manifest."""
    path, listed, expected, held = release.path, release.listed, release.most, release.held
    if listed is None:
        yield f"{MANIFEST} is missing, or is not as skdppca writes it"
        return
    for name in sorted({*listed, *expected}):
        if name not in expected:
            yield f"{MANIFEST} lists {name}, which is not part of this release"
        elif not (path / name).is_file():
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{MANIFEST} does not list {name}"
        elif name not in held:
            tables = {table_file(place) for place in range(len(release.reports))}
            yield f"{name} " + (
                "was changed, or cannot be read"
                if name in tables
                else f"cannot be read, or is larger than {REPORT} allows"
            )
        elif hashlib.sha256(held[name]).hexdigest() != listed[name]:
            yield f"{name} was changed"
    wanted = sums(listed).encode()
    if not (path / SUMS).is_file():
        yield f"{SUMS} is missing"
    elif _held(path, {SUMS: len(wanted)}).get(SUMS) != wanted:
        yield f"the hashes in {SUMS} are not those in {MANIFEST}"
    known = {*listed, *expected, MANIFEST, SUMS}
    for name in sorted(one.name for one in path.iterdir() if one.name not in known):
        if not _is_harmless(path / name):
            yield f"{name} is not part of the release: remove it before you publish this folder"


def _is_harmless(path: Path) -> bool:
    """Whether it is a signature, or the empty lock of a run that was killed."""
    if path.name == LOCK:
        return path.stat().st_size == 0
    signature = _signature(path) if path.name == SIGNATURE else None
    return signature is not None and is_signature(signature)


def _signature(path: Path) -> bytes | None:
    try:
        return read_plain(path, MOST_SIGNED)
    except OSError:
        return None


# Level 3: the report and a ledger.


def _wrong_totals(release: ReleaseFiles) -> Iterator[str]:
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
    rows, rows_there = stated["rows"], len(statement.chain.rows)
    last = _last_row(statement, release.reports)
    if not isinstance(rows, int) or not last <= rows <= rows_there:
        yield f"its totals are those of row {rows} of the ledger, but its release is in row {last}"
        return
    computed = account(Statement(statement.chain.until(rows)), release.reports)
    yield from differences("ledger", stated, computed)


def _wrong_lacks(release: ReleaseFiles) -> Iterator[str]:
    """Whether the report states what its ledger lacked when the report was written."""
    document, statement = release.document, release.statement
    assert statement is not None
    stated, at = [*filter(_is_lack, document["checks"])], document["ledger"]["rows"]
    if not isinstance(at, int) or not 0 <= at <= len(statement.chain.rows):
        return  # which its totals say
    written = statement.chain.until(at)
    charged = [replace(one, chain=written) for one in release.fits if one.report.receipt]
    lacked = [asdict(LEDGER.finding(says)) for one in charged for says in LEDGER.differs(one)]
    if stated != lacked:
        yield "what it states that its ledger lacked is not what the ledger lacked then"


def _last_row(statement: Statement, reports: Sequence[PrivacyReport]) -> int:
    """The last row of a ledger that records one of these releases or their parts."""
    try:
        recorded = [one.release.row for one in charged_here(statement, reports) if one.release]
    except (TypeError, ValueError):  # made up, which level 1 says
        return 0
    return max(recorded, default=0)


def _wrong_account(release: ReleaseFiles) -> Iterator[str]:
    """What of the account is drawn otherwise than it was when the report was written."""
    stated, statement = release.document["ledger"], release.statement
    if stated is not None and statement is not None:
        written = Statement(statement.chain.until(stated["rows"]))
        yield from release.pictures.differ_by(release.reports, written)


# Level 4: someone outside.


def _wrong_head(release: ReleaseFiles) -> Iterator[str]:
    assert release.statement is not None
    rows = release.statement.chain
    row = next((row for row in range(len(rows.rows) + 1) if rows.head(row) == release.head), None)
    if row is None:
        yield "no row of the ledger has this head: rows were changed, or it is of another ledger"
        return
    last = _last_row(release.statement, release.reports)
    if row < last:
        yield (
            f"it is the head of row {row}, before the release in row {last}, so it cannot show "
            "that release"
        )


def _wrong_signer(release: ReleaseFiles) -> Iterator[str]:
    assert release.signer is not None
    wrong: str | None = f"{MANIFEST} is missing, or is not as skdppca writes it"
    if release.listed is not None:
        signature = _signature(release.path / SIGNATURE)
        wrong = wrong_signature(manifest(release.listed).encode(), signature, release.signer)
    if wrong is not None:
        yield wrong


# The table. What is given to a check is what those before it need not have found wrong.


def _of_each(check: Check[Evidence]) -> Check[ReleaseFiles]:
    """A check of one release, made of each in the report that can be checked so."""
    return Check(
        check.level,
        check.what,
        check.agrees,
        lambda release: chain.from_iterable(map(check.differs, filter(check.given, release.fits))),
        lambda release: any(map(check.given, release.fits)),
    )


def _has_lacks(release: ReleaseFiles) -> bool:
    """Whether there is the ledger of a report that states what it lacked."""
    if release.statement is None or not release.is_ours:
        return False
    ledger = release.document["ledger"] or {}
    same = ledger.get("accountant") == release.statement.chain.terms.accountant
    return same and states_lacks(release.document)


IS_REPORT, HAS_FILES, HAS_ARRAYS, IS_CHARGED, HEAD, SIGNER = map(
    attrgetter,
    ("is_report", "has_files", "has_arrays", "is_charged", "head", "signer"),
)

CHECKS: tuple[Check[ReleaseFiles], ...] = (
    SCHEMA,
    Check(1, "text", "", _wrong_text, IS_REPORT),
    *(_of_each(check) for check in OF_ONE if check.level == 1),
    Check(1, "figures", "the figures follow from the events", _wrong_figures, IS_REPORT),
    *(_of_each(check) for check in OF_ONE if check.level == 2),
    Check(2, "files", "", _wrong_numbers, HAS_FILES),
    Check(2, "results", "the results follow from the arrays", _wrong_results, HAS_ARRAYS),
    Check(2, "matrix", "", _wrong_matrix, HAS_ARRAYS),
    Check(2, "checks", "", _wrong_checks, HAS_FILES),
    Check(2, "pictures", "", _unknown_pictures, HAS_FILES),
    Check(2, "page", "the page says what the report says", _wrong_page, HAS_FILES),
    Check(2, "pictures", "", lambda one: iter(one.pictures.odd), HAS_FILES),
    Check(2, "pictures", "", _wrong_pictures, lambda one: one.has_arrays and one.is_ours),
    Check(2, "files", "every file has its hash in the manifest", _wrong_files, attrgetter("whole")),
    *(_of_each(check) for check in OF_ONE if check.level == 3),
    Check(3, "checks", "", _wrong_lacks, _has_lacks),
    Check(3, "totals", "the totals are those of the ledger", _wrong_totals, IS_CHARGED),
    Check(3, "pictures", "", _wrong_account, lambda one: one.is_charged and one.is_ours),
    Check(4, "head", "the ledger has the head that was kept elsewhere", _wrong_head, HEAD),
    Check(4, "signature", "the signature was made with this key", _wrong_signer, SIGNER),
)
