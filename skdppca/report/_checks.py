"""The checks of a release: its files with each other, with a ledger, and with someone outside.

A report may be made up, and a file anything: nothing here fails because of what they hold.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..privacy import Finding, PrivacyReport, Receipt, Statement
from ..privacy.chain import Chain
from ..privacy.checks import Evidence, Question, differences, differing, unreadable
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
from ._document import account, charges_of, findings_of, read
from ._sections import claim
from ._subject import Subject, merged_again, rebuilt

ODD = "is a link, a pipe or a folder, not a file that skdppca wrote: remove it"
NO_SUMS = f"{SUMS} is missing, or is not as skdppca writes it"

# What two machines may differ in when they merge the same parts: the last digits, and those that
# cancel out in sums of larger numbers.
TOLERANCE, CANCELLED = 1e-6, 1e-12

# Letters of a version, at most.
LONGEST_VERSION = 60


NAMESPACE = "skdppca"
REMEDY = f"sign with ssh-keygen -Y sign -n {NAMESPACE} -f KEY {SUMS}"

# Bytes of a file with a key, at most; and how a public key begins.
MOST_KEY = 2**16
KINDS = ("ssh-", "ecdsa-", "sk-")

# Seconds; a signature takes milliseconds.
PATIENCE = 30


class Compared:
    """A directory or a report alone, and the evidence that it is compared with.

    The document and the list of hashes are empty, and there is no report and no subject, if they
    cannot be read. `paid` are the reports of what was charged, of a merged release its parts, and
    `charges` their receipts.
    """

    def __init__(
        self, path: Path, statements: Sequence[Statement], head: str | None, signer: Path | None
    ) -> None:
        self.path, self.whole = path, path.is_dir()
        self.head, self.signer = head, signer
        self.chains = {one.chain.terms.accountant: one.chain for one in statements}
        self.document: Mapping[str, Any] = {}
        self.hashes: Mapping[str, str] = {}
        self.report: PrivacyReport | None = None
        self.unread: Exception | None = None
        self.paid: list[PrivacyReport] = []
        self.charges: list[Receipt] = []
        self.arrays: dict[str, Any] | None = None
        self.subject: Any = None
        self.odd = sorted(
            one.name
            for one in (os.scandir(path) if self.whole else ())
            if one.name in (SUMS, *FILES) and not one.is_file(follow_symlinks=False)
        )
        if not self.odd:  # else to read a file may never end
            self._read()

    def _read(self) -> None:
        self.hashes = (hashes_in(self.path) if self.whole else None) or {}
        text = _text(self.path / REPORT if self.whole else self.path)
        try:
            self.document, self.report = read(text)
        except (TypeError, ValueError, RecursionError, ArithmeticError) as error:
            self.unread = error
            return
        with suppress(TypeError, ValueError):  # parts that are made up, which a check says
            self.paid, self.charges = paid_by(self.report), charges_of(self.report)
        self.arrays = read_arrays(self.path / ARRAYS) if self.whole else None
        parts = read_parts(self.path / PARTS) if is_merged(self.report.details) else ()
        with suppress(Exception):  # of arrays that no fit releases
            if self.arrays is not None:
                names = np.asarray(self.arrays.get("feature_names", ())).tolist()
                self.subject = rebuilt(self.report, self.arrays, names, parts)


def _text(path: Path) -> str:
    try:
        return read_file(path, MAX_LENGTH).decode(errors="replace")
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror}; give a directory that `skdppca fit --out` wrote"
        ) from None


def findings(release: Compared) -> list[Finding]:
    """Return all that differs, as far as there is something to compare by."""
    found = [Finding("files", "files", f"{name} {ODD}") for name in release.odd]
    if found:
        return found
    try:
        found.extend(_findings(release))
        if release.report is not None and not any(one.question == "files" for one in found):
            claim(release.document)
    except ImportError:
        raise
    except Exception:  # of values that no release has
        found.append(Finding("files", "schema", "it holds values that cannot be checked"))
    if release.signer is not None:
        found += _named("outside", "signature", _wrong_signer(release, release.signer))
    return found


def _findings(release: Compared) -> Iterator[Finding]:
    if release.unread is not None:
        yield unreadable(release.unread)
    if release.whole:
        yield from _named("files", "files", _wrong_files(release))
    report, chains = release.report, list(release.chains.values())
    if report is None:
        return
    charged, stated = bool(chains), release.document["fit"]["release_id"]
    for finding in differing(Evidence(report, stated, release.arrays, chains)):
        charged = charged and finding.question != "ledger"
        yield finding
    if release.whole and release.subject is None:
        no_archive = f"{ARRAYS} is missing, or is not an archive that holds arrays of a fit only"
        yield Finding("files", "files", no_archive)
    if release.subject is not None:
        yield from _named("files", "files", _wrong_table(release.path, release.subject))
        stated_results = release.document["results"]
        yield from _named("files", "results", _wrong_results(stated_results, release.subject))
        yield from _named("files", "merge", _wrong_merge(release.subject))
    if charged:
        yield from _named("ledger", "totals", _wrong_totals(release, report))
    if release.head is not None:
        yield from _named("outside", "head", _wrong_head(release))


def _named(question: Question, what: str, wrong: Iterable[str]) -> Iterator[Finding]:
    return (Finding(question, what, says) for says in wrong)


# Do the files belong together?


def _wrong_files(release: Compared) -> Iterator[str]:
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
        same = False
        with suppress(OSError, KeyError, TypeError, ValueError, IndexError):
            expected = table(subject)
            same = read_file(path / TABLE, len(expected)) == expected
        if not same:
            yield f"{TABLE} does not hold exactly the names and numbers of {ARRAYS}"


def _wrong_results(stated: Any, subject: Subject) -> Iterator[str]:
    """Yield what of the results is not what the arrays give."""
    try:
        computed = findings_of(subject)
    except Exception:  # of arrays that no fit releases
        yield f"they cannot be computed from {ARRAYS}"
        return
    yield from differences("results", stated, computed, 0.0)


def _wrong_merge(subject: Subject) -> Iterator[str]:
    """Yield what of a merged release its parts do not give.

    No ledger has a merged release, because nothing is charged for it. So it is computed again.
    """
    if not is_merged(subject.report.details):
        return
    try:
        wrong = list(_wrong_parts(subject)) or list(_not_merged(subject))
    except Exception:  # of parts that are made up
        wrong = ["they cannot be merged"]
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


# Does the ledger agree?


def _wrong_totals(release: Compared, report: PrivacyReport) -> Iterator[str]:
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


def _last_row(release: Compared, chain: Chain) -> int:
    """Return the last row of a ledger that records this release or its parts."""
    ours = {one.row for one in release.charges if one.accountant == chain.terms.accountant}
    return max((row.row for row in chain.releases if row.charge in ours), default=0)


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


def _wrong_signer(release: Compared, signer: Path) -> Iterator[str]:
    wrong = NO_SUMS
    if release.hashes:
        wrong = _wrong_signature(sums(release.hashes), release.path, signer)
    yield from filter(None, [wrong])


def _wrong_signature(signed: str, folder: Path, signer: Path) -> str:
    """Return what is wrong with the signature in a folder; "" if it is by this key.

    Parameters
    ----------
    signed : str
        The hashes.
    folder : Path
        With their signature.
    signer : Path
        An SSH public key, such as ``id_ed25519.pub``.

    Raises
    ------
    ValueError, OSError
        If the key is none, or `ssh-keygen` cannot be run.
    """
    key = _public_key(signer)
    if not (folder / SIGNATURE).is_file():
        return f"there is no {SIGNATURE}, so these files are not signed; {REMEDY}"
    with tempfile.TemporaryDirectory() as private:
        allowed = Path(private) / "allowed"
        allowed.write_text(f'signer namespaces="{NAMESPACE}" {key}\n', encoding="utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "signer"]
        command += ["-n", NAMESPACE, "-s", str(folder / SIGNATURE)]
        failed = ""
        try:
            done = subprocess.run(
                command, input=signed.encode(), capture_output=True, timeout=PATIENCE
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            failed = getattr(error, "strerror", f"it took more than {PATIENCE} s")
        if failed:
            raise OSError(
                f"a signature is verified by ssh-keygen, which cannot be run ({failed}); install "
                "OpenSSH 8.1 or newer"
            )
    if done.returncode == 0:
        return ""
    return f"{SIGNATURE} is no signature by this key for {NAMESPACE}; {REMEDY}"


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
