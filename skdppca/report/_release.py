"""The report of a release, for those who decide on it and those who check it."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from .._text import printable
from .._text.digits import up
from ..exceptions import LedgerError, SealedAccountantError
from ..plotting._pipeline_steps import other_steps, private_steps
from ..privacy import BaseAccountant, PrivacyReport, Statement
from ..privacy.installing import how_to_install
from ..privacy.parts import parts_of
from ._contents import Write, archived, as_json, files
from ._context import Context, check_words
from ._directory import write_all
from ._document import assemble
from ._pictures import Picture, draw
from ._results import page, results
from ._sections import status_of
from ._subject import Subject, subject_of
from ._verify import agreeing

# Characters of what matplotlib says, at most.
LONGEST = 200

# In the class below, `dict` is a method.
Document = dict[str, Any]


class ReleaseReport:
    """One release: its results, how strongly it is protected, and how anyone can check that.

    It is written for someone who must decide whether to publish a release. It holds public facts,
    released values and declared words, so it is as private as the release. ``print`` shows the
    components, then the guarantee and the budget. A notebook shows the decision box and the
    pictures.

    Parameters
    ----------
    release : fitted estimator, Pipeline or ProjectionMap
        What is to be published. A step of a Pipeline that was fitted before the private one makes
        the figures wrong, and the box says so.
    title : str, optional
        Title of the page. By default the method and the number of components.
    context : Context, optional
        What the curator declares. Whatever is missing is printed as "Not stated".
    ledger : PrivacyLedger or PrivacyAccountant, optional
        Whose totals are printed. By default the one that the fit was charged to.
    feature_names : sequence of str, optional
        Names of the columns, for fits of rows without names. By default those that the steps of a
        Pipeline give them, if none of these steps learned from the records.
    image_shape : tuple of int, optional
        Height and width, if a row is an image. The components are then drawn as images.
    pictures : bool, default=True
        Whether to draw.

    Attributes
    ----------
    no_pictures : str
        Why there are no pictures; empty if there are.

    See Also
    --------
    Context : What people declare.
    verify : Check the files that `write` wrote.
    skdppca.privacy.PrivacyReport : What a fit says of itself, which this report contains.

    Notes
    -----
    **What never stands in it**: the exact number of records where that is private, how many records
    were clipped, a hash of the data (it would let a guess of the whole table be tested), paths,
    host or user names, and any duration. The one time on the page is that of the charge, which is
    written before the data are used.

    With the same release, context and ledger it is the same to the last byte, whenever it is
    written.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss, PrivacyAccountant
    >>> from skdppca.report import Context, ReleaseReport
    >>> accountant = PrivacyAccountant(epsilon=3.0, delta=1e-6)
    >>> pca = DPGauss(n_components=2, epsilon=1.0, accountant=accountant).fit(load_digits().data)
    >>> report = ReleaseReport(pca, title="Digits", context=Context(curator="Clinic"))
    >>> report.dict()["fit"]["core"]["guarantee"]["epsilon"]
    1.0
    >>> "Private, but questions are open" in report.html()
    True
    """

    def __init__(
        self,
        release: Any,
        *,
        title: str | None = None,
        context: Context | None = None,
        ledger: BaseAccountant | None = None,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, ...] | None = None,
        pictures: bool = True,
    ) -> None:
        check_words(title, context)
        self._subject = subject_of(release, feature_names)
        self._declared: Document = {
            "title": _title(self._subject) if title is None else title.strip(),
            "context": (context or Context()).to_dict(),
            "steps": list(map(asdict, other_steps(release))),
            "image_shape": None if image_shape is None else list(map(int, image_shape)),
        }
        account = _accountant(release, self._subject.report) if ledger is None else ledger
        self._statement = _statement(account)
        self.no_pictures = "" if pictures else "they were not asked for"

    def dict(self) -> Document:
        """Return the report as JSON-able values; infinity as the string "inf".

        Returns
        -------
        dict
            Report as the documentation's page *Report JSON schema* describes it.
        """
        return copy.deepcopy(self._document)

    def json(self) -> str:
        """Return `dict` as JSON text.

        Returns
        -------
        str
        """
        return as_json(self._document)

    def html(self) -> str:
        """Return the page: one file that loads nothing and runs no script.

        Returns
        -------
        str
        """
        return page(self._document, self._pictures)

    def write(self, directory: str | PathLike[str], *, force: bool = False) -> list[str]:
        """Write the release and its report: all files, or none.

        Parameters
        ----------
        directory : str or path-like
            It is made if need be, and must be empty.
        force : bool, default=False
            Whether an earlier release in it may be replaced.

        Returns
        -------
        list of str
            The names of the files: ``report.html``, ``report.json``, arrays, tables, and
            ``SHA256SUMS``.

        Raises
        ------
        ValueError, OSError
            If the directory is not empty, in use, or cannot be written to, or if the arrays take
            more than 2 GiB.
        """
        return write_all(Path(directory), self._files(), force)

    def _files(self) -> Mapping[str, Write]:
        """Return what writes each file, by its name; refuse arrays that nobody could verify."""
        one = self._subject
        archived(one.report.released, one.names)
        archived([each for part in parts_of(one.report) for each in part.report.released])
        return files(one, self.json, self.html)

    @cached_property
    def _pictures(self) -> list[Picture]:
        if self.no_pictures:
            return []
        try:
            return _drawn(self._subject, self._document)
        except ImportError:
            self.no_pictures = f"they need matplotlib; {how_to_install('report')}"
        except Exception as error:  # the words are worth more than a picture
            said = str(error).partition("\n")[0][:LONGEST]
            self.no_pictures = f"matplotlib failed with {type(error).__name__}: {said}"
        return []

    @cached_property
    def _document(self) -> Document:
        return assemble(self._subject, self._statement, **self._declared)

    def _repr_html_(self) -> str:
        return page(self._document, self._pictures, "snippet.html")

    def __str__(self) -> str:
        """Return the results, then guarantee and budget: the lines of ``skdppca report``."""
        return "\n".join(results(self._document, shell=False))

    def __repr__(self) -> str:
        report = self._subject.report
        cost = f"epsilon={up(report.epsilon, 4)}, delta={report.delta:g}"
        told = cost if report.private else "NOT PRIVATE"
        return printable(f"<ReleaseReport of {report.method}: {told}>")


def render(directory: str | PathLike[str]) -> str:
    """Return the page of a release as HTML, made anew from its report and its arrays.

    The page in a folder is a rendering, and no evidence: `verify` does not compare its words. Who
    must decide on a release renders its page.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote.

    Returns
    -------
    str

    Raises
    ------
    ValueError, OSError
        If there is no release, or its files do not agree.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.report import ReleaseReport, render
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> report = ReleaseReport(pca)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = report.write(f"{folder}/release")
    ...     page = render(f"{folder}/release")
    >>> page == report.html()
    True
    """
    found = agreeing(Path(directory))
    return rendered(found.subject, found.document)


def declare(
    directory: str | PathLike[str],
    out: str | PathLike[str],
    *,
    title: str | None = None,
    context: Context | None = None,
    force: bool = False,
) -> list[str]:
    """Write a copy of a release with another title, or with answers to what was "Not stated".

    It reads no data, costs nothing, and changes no number. An answer that the release has stays: it
    was given to somebody. A signature of the first release is not of this one: sign it again.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote.
    out : str or path-like
        Where the copy goes; another directory.
    title : str, optional
        In the place of the release's title.
    context : Context, optional
        Answers to what the release does not state.
    force : bool, default=False
        Whether an earlier release in `out` may be replaced.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    ValueError
        If the files of the release do not agree, if an answer contradicts one that the release has
        or none is new, or if `out` is not empty.
    OSError
        If there is no release, or `out` cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.report import Context, ReleaseReport, declare, verify
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ReleaseReport(pca, pictures=False).write(f"{folder}/first")
    ...     stated = Context(curator="Clinic of Anytown")
    ...     _ = declare(f"{folder}/first", f"{folder}/second", context=stated)
    ...     found = verify(f"{folder}/second")
    >>> found.agrees, found.document["context"]["curator"]
    (True, 'Clinic of Anytown')
    """
    source, target = Path(directory), Path(out)
    check_words(title, context)
    if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(source)):
        raise ValueError(f"{target} lies in {source}, which stays as it is; choose another place")
    found = agreeing(source)
    earlier = dict(found.document)
    stated = {
        "title": earlier["title"] if title is None else title.strip(),
        "context": _joined(earlier["context"], (context or Context()).to_dict()),
    }
    document = earlier | stated
    if document == earlier:
        raise ValueError(
            f"{source} states all of this already; give another title, or answers to what it does "
            "not state"
        )
    subject = found.subject
    contents = files(subject, lambda: as_json(document), lambda: rendered(subject, document))
    return write_all(target, contents, force)


def _joined(
    earlier: Mapping[str, str | None], later: Mapping[str, str | None]
) -> dict[str, str | None]:
    """All answers; refuse one that contradicts an earlier one."""
    for name, answer in later.items():
        if answer is not None and earlier[name] not in (None, answer):
            raise ValueError(
                f"the release states {name} already, and what was stated stays; leave {name} out, "
                "or tell those who have the release what was wrong"
            )
    return {name: earlier[name] or answer for name, answer in later.items()}


def rendered(subject: Subject, document: Mapping[str, Any]) -> str:
    """Return the page of a document, with pictures if they can be drawn here."""
    pictures: list[Picture] = []
    with suppress(Exception):  # without matplotlib, or of numbers that it cannot draw
        pictures = _drawn(subject, document)
    return page(document, pictures)


def _drawn(subject: Subject, document: Mapping[str, Any]) -> list[Picture]:
    return draw(subject, document["image_shape"], status_of(document) != "not-as-stated")


def _title(subject: Subject) -> str:
    if "components" not in subject.arrays:
        return f"{subject.report.method}: a private release"
    count = len(subject.arrays["components"])
    counted = f"{count} component{'s' * (count > 1)} of {len(subject.names)} features"
    return f"{subject.report.method}: {counted}"


def _accountant(release: Any, report: PrivacyReport) -> BaseAccountant | None:
    """Return the accountant that a release was charged to, if it knows it."""
    ids = {receipt.accountant for receipt in report.receipts}
    for one in (release, *private_steps(release)):
        accountant = getattr(one, "accountant", None)
        if isinstance(accountant, BaseAccountant) and {accountant.id} == ids:
            return accountant
    return None


def _statement(ledger: BaseAccountant | None) -> Statement | None:
    """The account at this moment; None if it is out of reach, which must not cost the report."""
    if ledger is None:
        return None
    try:
        statement = ledger.statement()
        _ = statement.spent, statement.remaining, statement.entries  # they may need dp-accounting
    except (LedgerError, SealedAccountantError, ImportError):
        return None
    return statement
