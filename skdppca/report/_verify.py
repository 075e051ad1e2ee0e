"""Whether a report, the files beside it, a ledger, and someone outside agree."""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._text import printable
from .._version import __version__
from ..privacy import BaseAccountant, Finding, PrivacyLedger, PrivacyReport, Statement
from ..privacy.storage import MAX_LENGTH, parse_json
from ..privacy.verification import IN_THE_LEDGER, anew, verify_report
from ._archive import read_archive
from ._directory import LOCK, MANIFEST, manifest
from ._document import SCHEMA, check_schema, in_order, reports_of
from ._facts import account, findings_of, guarantee
from ._files import (
    FILES,
    MOST,
    PAGE,
    REGISTRY,
    REPORT,
    SIGNATURE,
    arrays_file,
    as_json,
    table_file,
    write_table,
)
from ._page import page
from ._plain import is_plain, read_plain
from ._redrawn import Pictures
from ._registry import registry
from ._sections import claim
from ._sentences import NEVER_CHECKED, NOT_TO_PUBLISH
from ._signature import MOST_SIGNED, is_signature, wrong_signature
from ._sizes import archived, most_bytes
from ._subject import Subject, rebuilt

__all__ = ["Verification", "check_directory", "hashes_in", "is_ours", "pages", "verify"]

LEVELS = (1, 2, 3, 4)

# Two machines may differ in the last digits of what they compute again: by a search for a root, or
# by sums. All else of the results is copied.
TOLERANCE, SUMMED = 1e-6, {"range": 1e-9}

INCOMPLETE = "not reached, because a lower level differs."
NO_ARCHIVE = "is missing, or no archive of arrays and nothing else"
ODD = "is a link, a pipe or a folder, and no file that skdppca wrote: remove it"

# Bytes of a manifest, at most: it has a hash for each of some ten names.
MOST_LISTED = 2**16

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
        SHA-256 of the files by the manifest; empty if it cannot be read.
    """

    reports: tuple[PrivacyReport, ...]
    findings: tuple[Finding, ...]
    levels: tuple[int, ...]
    notes: Mapping[int, str] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    hashes: Mapping[str, str] = field(default_factory=dict, repr=False)

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
        lines.append(NEVER_CHECKED if self.passed else NOT_TO_PUBLISH)
        return "\n".join(map(printable, lines))

    def _said(self, level: int, agree: bool, differs: bool) -> str:
        note = self.notes.get(level, "")
        if level not in self.levels:
            return note
        if not agree:
            return "something differs." if differs else INCOMPLETE
        files = ", these files" if 2 in self.levels else ""
        said = {
            1: "this report agrees with itself.",
            2: "this report and these files agree.",
            3: f"this report{files} and this ledger agree.",
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
    2. The files belong to it: arrays, tables, the words of the page, and all hashes.
    3. The ledger vouches for it: it has the charge and this release, and adds up to its totals.
    4. Someone outside vouches for it: a head of the ledger that was kept elsewhere, or a signature.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote; or a ``report.json`` alone, whose
        files are not checked then.
    ledger : PrivacyLedger, PrivacyAccountant, Statement, str or path-like, optional
        Which must have the charges and the releases. It is read once.
    head : str, optional
        A head of the ledger, 64 hexadecimal digits, that its owner could not change: from an
        earlier report, an e-mail, a notary.
    signer : str or path-like, optional
        An SSH public key. The owner of the private key must have signed the manifest:
        ``ssh-keygen -Y sign -n skdppca -f KEY MANIFEST.json``.

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
    whole = path.is_dir()
    if head is not None and ledger is None:
        raise ValueError("head is compared with a ledger; give that, too: ledger=...")
    head = None if head is None else head.strip().lower()
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise ValueError(f"head={head!r} is none; give its 64 digits (0-9, a-f), and no words")
    if signer is not None and not whole:
        raise ValueError(f"{path} is no directory, so it has no manifest that could be signed")
    odd = [Finding(1, "files", False, f"{name} {ODD}") for name in _odd(path)] if whole else []
    if odd:
        return Verification((), tuple(odd), (1,), {level: INCOMPLETE for level in LEVELS[1:]})
    statement = _statement(ledger)
    text = _text(path / REPORT, MAX_LENGTH) if whole else _text(path, MAX_LENGTH, links=True)
    document, reports, findings = _read(text)
    levels, notes = [1], {2: "not checked; give the directory, to check the files in it."}
    found = [Finding(1, "schema", True, "it is a report as skdppca writes it")] if reports else []
    findings = [*found, *findings]
    listed = hashes_in(path / MANIFEST) if whole else None
    pictures: Pictures | None = None
    if reports:
        findings += _first(text, document, reports)
    if whole:
        levels.append(2)
        most = _most(path, document, reports, listed, len(text))
        tables = {table_file(place) for place in range(len(reports))}
        held = _held(path, {name: size for name, size in most.items() if name not in tables})
        pictures = Pictures(held, document)
        findings += _second(path, document, reports, listed, most, held, pictures)
    if statement is not None:
        levels.append(3)
        if reports:
            found, notes[3] = _third(document, reports, statement, pictures)
            if head is None and signer is None:
                notes[3] += " To know, ask for its head or a signature through another channel."
            findings += found
    elif any("sites" in report.details for report in reports):
        notes[3] = "not checked; `skdppca ledger show FILE` at each site names this release."
    elif any(report.receipt is None for report in reports):
        notes[3] = "there is none, because no ledger was charged."
    else:
        notes[3] = "not checked; give --ledger FILE, to check the charge."
    if pictures is not None:
        vouched = _vouched(document, reports, listed, statement is not None, pictures)
        notes[2] = " ".join(vouched)
        if signer is None and (path / SIGNATURE).exists():
            notes[2] += f" Nobody vouches for {SIGNATURE}, until it is checked: give --signer KEY."
    if head is None and signer is None:
        notes[4] = "not checked; give --head HEX or --signer KEY, which come from someone outside."
    else:
        levels.append(4)
        found, notes[4] = _fourth(
            path, document, reports, listed, statement, head, signer, pictures
        )
        findings += found
    return Verification(reports, tuple(findings), tuple(levels), notes, document, listed or {})


def _statement(ledger: BaseAccountant | Statement | str | PathLike[str] | None) -> Statement | None:
    """What a ledger holds, all of it verified at this moment."""
    if ledger is None or isinstance(ledger, BaseAccountant | Statement):
        return None if ledger is None else anew(ledger)
    return PrivacyLedger(ledger).statement()  # which reads and verifies every row when it is opened


def check_directory(path: Path) -> None:
    """Refuse a report without its files."""
    if not path.is_dir():
        raise OSError(f"{path} is no directory; give one that `skdppca fit --out` wrote")


def _findings(level: int, what: str, agreeing: str, differences: Iterator[str]) -> list[Finding]:
    """One finding for every difference, or one that there is none."""
    found = [Finding(level, what, False, difference) for difference in differences]
    return found or [Finding(level, what, True, agreeing)]


# Reading.


def _odd(path: Path) -> list[str]:
    """Names of a release that no plain file has: to read it may never end, or lead elsewhere."""
    names = (MANIFEST, LOCK, *FILES)
    return [name for name in names if os.path.lexists(path / name) and not is_plain(path / name)]


def _text(path: Path, most: int, links: bool = False) -> str:
    """The text of a file."""
    try:
        return read_plain(path, most, links=links).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def _read(text: str) -> tuple[dict[str, Any], tuple[PrivacyReport, ...], list[Finding]]:
    """The document and its fits' reports; or one finding of why there are none."""
    try:
        document = parse_json(text)
        wrong = None if isinstance(document, dict) else "it is no mapping"
        if wrong is None and document.get("schema") != SCHEMA:
            wrong = f"its schema is {str(document.get('schema'))[:40]!r}, and not {SCHEMA!r}"
        wrong = wrong or check_schema(document)
        if wrong is None:
            if len(document["fits"]) > MOST:
                wrong = f"it has more than {MOST} fits"
            else:
                reports = tuple(reports_of(document))
                for report in reports:
                    archived(report.released, report.feature_names)
                return document, reports, []
    except (TypeError, ValueError, RecursionError) as error:
        wrong = str(error)
    says = f"it is no report as skdppca writes it: {wrong[:300]}"
    return {}, (), [Finding(1, "schema", False, says)]


def _held(path: Path, most: Mapping[str, int]) -> dict[str, bytes]:
    """What the files hold that are there, and no larger than they can be; each is read once."""
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


def hashes_in(path: Path) -> dict[str, str] | None:
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


def _first(
    text: str, document: Mapping[str, Any], reports: Sequence[PrivacyReport]
) -> Iterator[Finding]:
    yield from _failing(1, "text", _wrong_text(text, document, reports))
    for fit in document["fits"]:
        alone = {name: fit[name] for name in fit if name != "results"}
        yield from (one for one in verify_report(alone) if one.what != "schema")
    yield from _findings(
        1, "figures", "they follow from the events", _wrong_figures(document, reports)
    )


def _wrong_text(
    text: str, document: Mapping[str, Any], reports: Sequence[PrivacyReport]
) -> Iterator[str]:
    """Whether it has white space, an order or forms of numbers of its own."""
    try:
        same = text == as_json(in_order(document, reports))
    except ValueError:  # a number that JSON cannot hold
        same = False
    if not same:
        yield "it says this in other letters than skdppca does: in spaces, an order or numbers"


def _wrong_figures(document: Mapping[str, Any], reports: Sequence[PrivacyReport]) -> Iterator[str]:
    if len({(report.unit, report.adjacency) for report in reports}) > 1:
        yield "its releases protect different things, so their costs do not add up"
        return
    if any(not report.delta < 1 for report in reports):
        return  # the check of the price says so
    yield from _differences("guarantee", document["guarantee"], guarantee(reports))


def _differences(
    where: str, stated: Any, computed: Any, tolerance: float = TOLERANCE
) -> Iterator[str]:
    """What of the stated values is not what they are computed to be."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        if {*stated} == {*computed} and list(stated) != list(computed):
            yield f"{where} has its names in another order"
        for name in sorted({*stated, *computed}):
            within = max(tolerance, SUMMED.get(name, 0.0))
            yield from _differences(f"{where}/{name}", stated.get(name), computed.get(name), within)
    elif isinstance(stated, list) and isinstance(computed, list) and len(stated) == len(computed):
        for place, (one, other) in enumerate(zip(stated, computed, strict=True)):
            yield from _differences(f"{where}/{place}", one, other, tolerance)
    elif not _alike(stated, computed, tolerance):
        yield f"{where} is {_quoted(stated)}, and follows to be {_quoted(computed)}"


def _alike(stated: Any, computed: Any, tolerance: float) -> bool:
    if type(stated) is type(computed) is float:
        return math.isclose(stated, computed, rel_tol=tolerance, abs_tol=1e-300)
    return type(stated) is type(computed) and stated == computed


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


# Level 2: the report and its files.


def _most(
    path: Path,
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    listed: Mapping[str, str] | None,
    length: int,
) -> dict[str, int]:
    """How many bytes each file of the release can have, by its name."""
    if reports:
        return most_bytes(document, reports, length)
    # as far as can be told without a report
    there = {name for name in FILES if name != SIGNATURE and (path / name).is_file()}
    expected = {*there, *(listed or ()), arrays_file(0), REPORT, REGISTRY, PAGE}
    return dict.fromkeys(expected, MAX_LENGTH)


def _second(
    path: Path,
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    listed: Mapping[str, str] | None,
    most: Mapping[str, int],
    held: dict[str, bytes],
    pictures: Pictures,
) -> Iterator[Finding]:
    subjects: list[Subject] = []
    checks: list[list[Finding]] = []
    for place, report in enumerate(reports):
        arrays = _arrays(held.get(arrays_file(place)))
        found = verify_report(report, arrays=arrays)
        checks.append(found)
        yield from (one for one in found if one.level == 2)
        if arrays is None:
            yield Finding(2, "files", False, f"{arrays_file(place)} {NO_ARCHIVE}")
            held |= _held(path, {name: most[name] for name in {table_file(place)} & {*most}})
            continue
        names = np.asarray(arrays.get("feature_names", ())).tolist()
        subjects.append(rebuilt(report, arrays, names))
        table = _table(subjects[-1])
        held |= _held(path, {table_file(place): len(table)})
        yield from _failing(2, "files", _wrong_numbers(held, place, report, arrays, table))
    if reports and len(subjects) == len(reports):
        yield from _findings(
            2, "results", "they follow from the arrays", _wrong_results(document, subjects)
        )
    if reports:
        yield from _failing(2, "checks", _wrong_checks(document, reports, checks))
        yield from _failing(2, "pictures", _unknown_pictures(document, reports))
        yield from _findings(
            2, "page", "its words are the report's", _wrong_page(held, document, pictures)
        )
        yield from _failing(2, "pictures", iter(pictures.odd))
        if is_ours(document) and len(subjects) == len(reports):
            yield from _failing(2, "pictures", pictures.differ(subjects))
    wrong = _wrong_files(path, listed, {*most}, held)
    yield from _findings(2, "files", "all have their hashes", wrong)


def _failing(level: int, what: str, differences: Iterator[str]) -> Iterator[Finding]:
    return (Finding(level, what, False, difference) for difference in differences)


def _wrong_numbers(
    held: Mapping[str, bytes],
    place: int,
    report: PrivacyReport,
    arrays: Mapping[str, np.ndarray],
    table: bytes,
) -> Iterator[str]:
    """What the files with numbers in them lack, and whether they differ from each other."""
    name, tabled = arrays_file(place), table_file(place)
    released = [one.name for one in report.released]
    names = arrays.get("feature_names")
    if names is not None and (names.ndim != 1 or names.dtype.kind != "U"):
        yield f"{name} has feature_names that are no list of names"
    expected = [*released, *["feature_names"] * (names is not None)]
    if {*arrays} == {*expected} and list(arrays) != expected:
        yield f"{name} has its arrays in another order than {REPORT}"
    if "components" in released and (not table or held.get(tabled) != table):
        yield f"{tabled} is missing, or has other names or numbers than {name}, or more than these"


def _table(subject: Subject) -> bytes:
    """The table of a release, written again; empty if its arrays are none of a fit."""
    file = io.BytesIO()
    try:
        write_table(subject, file)
    except (KeyError, TypeError, ValueError, IndexError):
        return b""
    return file.getvalue()


def _wrong_results(document: Mapping[str, Any], subjects: Sequence[Subject]) -> Iterator[str]:
    """What of the results is not what the arrays give."""
    try:
        computed = [findings_of(subject) for subject in subjects]
    except Exception:  # arrays that are none of a fit, which another check says
        return
    stated = [fit["results"] for fit in document["fits"]]
    yield from _differences("results", stated, computed, 0.0)


def is_ours(document: Mapping[str, Any]) -> bool:
    """Whether this version of skdppca wrote it, so that it can write the page again."""
    return all(fit["core"]["software"].get("skdppca") == __version__ for fit in document["fits"])


def _wrong_page(
    held: Mapping[str, bytes], document: Mapping[str, Any], pictures: Pictures
) -> Iterator[str]:
    """Whether page and draft say what the report says: they are written again."""
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
        shown = ", or shows other pictures than this folder has" if name == PAGE else ""
        yield f"{name} does not say what {REPORT} says{shown}"


def pages(document: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, str]:
    """The page and the draft of a report, by their names; `files` has its pictures."""
    pictures = {
        one["name"]: files[f"{one['name']}.svg"].decode(errors="replace")
        for one in document["pictures"]
    }
    return {PAGE: page(document, pictures), REGISTRY: registry(document)}


def _wrong_checks(
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    found: Sequence[Sequence[Finding]],
) -> Iterator[str]:
    """Whether the checks that the report states are those that were made, and came out so."""
    if not is_ours(document) or not all(one.passed for checks in found for one in checks):
        return  # other words, or what differs is said already
    expected: list[Finding] = []
    for report, checks in zip(reports, found, strict=True):
        charged = report.receipt is not None and document["ledger"] is not None
        expected += [*checks, *[Finding(3, "ledger", True, IN_THE_LEDGER)] * charged]
    if document["checks"] != [asdict(one) for one in expected]:
        yield "the checks that it states are not those that follow from it"


def _unknown_pictures(
    document: Mapping[str, Any], reports: Sequence[PrivacyReport]
) -> Iterator[str]:
    """Which pictures this release cannot have."""
    known = {"privacy", "ledger"}
    for place, report in enumerate(reports):
        number = str(place + 1) if place else ""
        released = {one.name for one in report.released}
        known |= {f"scree{number}"} if "explained_variance" in released else set()
        if "components" in released:
            known |= {f"loadings{number}", f"components{number}"}
    names = [picture["name"] for picture in document["pictures"]]
    for name in sorted({*names}):
        if name not in known or names.count(name) > 1:
            yield f"{name}.svg is no picture of this release, or stands in it twice"
        elif name.startswith("components") and name.replace("components", "loadings") in names:
            yield f"{name}.svg is a second picture of the same components"


def _names(document: Mapping[str, Any], reports: Sequence[PrivacyReport]) -> set[str]:
    """All files of this release."""
    tables = {
        table_file(place)
        for place, report in enumerate(reports)
        if any(one.name == "components" for one in report.released)
    }
    pictures = {f"{picture['name']}.svg" for picture in document["pictures"]}
    arrays = {arrays_file(place) for place in range(len(reports))}
    return {*arrays, *tables, *pictures, REPORT, REGISTRY, PAGE}


def _wrong_files(
    path: Path,
    listed: Mapping[str, str] | None,
    expected: Collection[str],
    held: Mapping[str, bytes],
) -> Iterator[str]:
    """Which files are missing, changed, or no part of the release, by report and manifest."""
    if listed is None:
        yield f"{MANIFEST} is missing, or not as skdppca writes it"
        return
    for name in sorted({*listed, *expected}):
        if name not in expected:
            yield f"{name} is listed in {MANIFEST}, and is no part of this release"
        elif not (path / name).is_file():
            yield f"{name} is missing"
        elif name not in listed:
            yield f"{name} is not in {MANIFEST}"
        elif name not in held:
            yield f"{name} cannot be read, or is larger than it can be by {REPORT}"
        elif hashlib.sha256(held[name]).hexdigest() != listed[name]:
            yield f"{name} was changed"
    known = {*listed, *expected, MANIFEST}
    for name in sorted(one.name for one in path.iterdir() if one.name not in known):
        if not _is_harmless(path / name):
            yield f"{name} is no part of the release: remove it before you publish this folder"


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


def _vouched(
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    listed: Mapping[str, str] | None,
    has_ledger: bool,
    pictures: Pictures,
) -> Iterator[str]:
    """What of the files nothing is compared with but the manifest's hashes."""
    if not reports or listed is None:
        return
    if not is_ours(document):
        by = sorted({str(one["core"]["software"].get("skdppca")) for one in document["fits"]})
        yield f"The page was not written again, for this is skdppca {__version__}, not {by[0]}."
    if pictures.why_not:
        yield f"Pictures not checked: {pictures.why_not}"
    alone = _alone(document, reports, pictures)
    if document["ledger"] is not None and not has_ledger:
        alone.append("the ledger's totals")
    yield f"Only {MANIFEST} vouches for {', '.join(alone)}."


def _alone(
    document: Mapping[str, Any], reports: Sequence[PrivacyReport], pictures: Pictures | None
) -> list[str]:
    """What follows neither from the arrays nor from what a ledger records."""
    again = set() if pictures is None else pictures.drawn_again
    drawn = [f"{picture['name']}.svg" for picture in document["pictures"]]
    alone = [name for name in drawn if name not in again]
    if not is_ours(document):
        alone += [PAGE, REGISTRY, "the checks that it states"]
    alone += ["the title", "the steps of a Pipeline", "what was declared"]
    if any(report.feature_names is None for report in reports):
        alone.append("the features' names")
    return alone


# Level 3: the report and a ledger.


def _third(
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    statement: Statement,
    pictures: Pictures | None,
) -> tuple[list[Finding], str]:
    found = [
        one
        for report in reports
        for one in verify_report(report, ledger=statement)
        if one.level == 3
    ]
    if all(one.passed for one in found):
        found += _findings(
            3, "totals", "they are the ledger's", _wrong_totals(document, reports, statement)
        )
        if pictures is not None and is_ours(document) and all(one.passed for one in found):
            found += _failing(
                3, "pictures", _wrong_pictures(document, reports, statement, pictures)
            )
    later = len(statement.chain.receipts)
    stated = document["ledger"]
    later -= later if stated is None else stated["n_charges"]
    note = "Not checked: who wrote the ledger."
    if later > 0:
        since = "charge was made" if later == 1 else "charges were made"
        spent = statement.spent
        note += (
            f" Since this report {later} more {since}; the total is epsilon {spent.epsilon:.6g} at "
            f"delta {spent.delta:g} now."
        )
    return found, note


def _wrong_totals(
    document: Mapping[str, Any], reports: Sequence[PrivacyReport], statement: Statement
) -> Iterator[str]:
    stated = document["ledger"]
    if stated is None:
        yield "it leaves out the ledger's totals; whoever holds the ledger can write it with them"
        return
    rows, chain = stated["rows"], statement.chain
    last = max(report.release.row for report in reports if report.release is not None)
    if not isinstance(rows, int) or not last <= rows <= len(chain.rows):
        yield f"its totals are those of row {rows}, and its release is in row {last}"
        return
    computed = account(Statement(chain.until(rows)), reports)
    yield from _differences("ledger", stated, computed)


def _wrong_pictures(
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    statement: Statement,
    pictures: Pictures,
) -> Iterator[str]:
    """What of the account is drawn otherwise than it was when the report was written."""
    if document["ledger"] is not None:
        written = Statement(statement.chain.until(document["ledger"]["rows"]))
        yield from pictures.differ_by(reports, written)


# Level 4: someone outside.


def _fourth(
    path: Path,
    document: Mapping[str, Any],
    reports: Sequence[PrivacyReport],
    listed: dict[str, str] | None,
    statement: Statement | None,
    head: str | None,
    signer: str | PathLike[str] | None,
    pictures: Pictures | None,
) -> tuple[list[Finding], str]:
    found, notes = [], []
    if head is not None and statement is not None:
        says = "the ledger has the head that was kept elsewhere"
        found += _findings(4, "head", says, _wrong_head(reports, statement, head))
        notes.append("This ledger has that head.")
        if signer is None and reports:
            alone = ", ".join(_alone(document, reports, pictures))
            notes.append(f"No head vouches for {alone}; a signature does.")
    if signer is not None:
        wrong: str | None = f"{MANIFEST} is missing, or not as skdppca writes it"
        if listed is not None:
            signed = manifest(listed).encode()
            wrong = wrong_signature(signed, _signature(path / SIGNATURE), Path(signer))
        found.append(Finding(4, "signature", wrong is None, wrong or "it is by this key"))
        notes.append(f"{MANIFEST} is signed by that key.")
    return found, " ".join([*notes, "Not checked: who gave you the head or the key."])


def _wrong_head(reports: Sequence[PrivacyReport], statement: Statement, head: str) -> Iterator[str]:
    chain = statement.chain
    row = next((row for row in range(len(chain.rows) + 1) if chain.head(row) == head), None)
    if row is None:
        yield "no row of the ledger has this head: rows were changed, or it is of another ledger"
        return
    last = max((report.release.row for report in reports if report.release), default=0)
    if row < last:
        yield (
            f"it is the head of row {row}, before the release in row {last}, so it does not vouch "
            "for that release"
        )
