"""Releases in directories: one as the fitted estimator that it was, several merged into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..decomposition import BasePrivatePCA, MergedPCA
from ..decomposition.fitted import read_only
from ..decomposition.merged import COMMON, Given, merged
from ._sections import status_of
from ._subject import RESTORED, Subject
from ._verify import agreeing


def load(directory: str | PathLike[str]) -> Any:
    """Return the fitted PCA of a release, with the numbers that its files hold.

    The files are verified first: they must belong together. It reads no data and costs nothing.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote, with a PCA in it.

    Returns
    -------
    estimator
        Fitted estimator of the class that made the release. Each released array is the stored one,
        bit for bit, and cannot be written to. `privacy_` is the stored report. Parameters are those
        of the fit, but for `accountant`, `random_state`, `n_jobs` and `verbose`, which no file
        holds: give them before you fit again.

    Raises
    ------
    ValueError
        If the files do not agree, or hold no PCA, or one that a search chose.
    OSError
        If there is no release.

    See Also
    --------
    verify : Check the files, also by a ledger.
    skdppca.merge : One PCA out of several releases.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.report import ReleaseReport, load
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = ReleaseReport(pca, pictures=False).write(f"{folder}/release")
    ...     again = load(f"{folder}/release")
    >>> np.array_equal(again.components_, pca.components_)
    True
    """
    return opened(Path(directory))[0].fitted


def opened(path: Path) -> tuple[Subject, Mapping[str, Any]]:
    """Return the PCA in a directory, read-only, and its report's document.

    Its names are as the fit had them. What is no fit of one PCA is refused.
    """
    found = agreeing(path)
    subject = found.subject
    fitted, report = subject.fitted, subject.report
    if fitted is None:
        raise ValueError(f"{path} releases no components; give the release of a PCA")
    if report.method not in RESTORED:
        raise ValueError(
            f"{path} is a release of {report.method}, which does not say how its PCA transforms; "
            f"give one of {', '.join(RESTORED)}"
        )
    if report.feature_names is not None:
        fitted.feature_names_in_ = np.array(report.feature_names, dtype=object)
    read_only(fitted)
    return subject, found.document


def merge(
    releases: Sequence[Any], *, disjoint: bool = False, n_components: int | None = None
) -> MergedPCA:
    """Merge private PCAs of different people into one, at no privacy cost.

    Each quarter, or each hospital, releases a PCA of its own people. The merged PCA is better than
    each of them, and close to one of all people together. It is computed from the releases alone,
    so it charges no ledger and draws no noise.

    Parameters
    ----------
    releases : sequence of fitted estimators or paths
        At least two, each a fitted PCA or a directory that ``skdppca fit --out`` or
        `ReleaseReport.write` wrote. Their columns, `unit`, `adjacency`, `scale` and `center` must
        be the same. The files of a directory are verified first.
    disjoint : bool, default=False
        Whether you declare that nobody has records in two of the releases. Nothing can check this,
        but it is refused where two releases charged one account, or a copy of it.

        - True: the guarantee is that of the largest part, because each person is in one part only.
        - False: the guarantee is that of all parts composed.

        The report states both, and the declared one first.
    n_components : int or None, default=None
        Number of components. None gives as many as the smallest part has.

    Returns
    -------
    MergedPCA
        Fitted, and read-only. Its `privacy_` lists the parts with their receipts.

    Raises
    ------
    ValueError, TypeError
        If the releases do not go together, if one was given twice or was merged itself, or if the
        files of a directory do not agree or say that their figures do not hold as stated.
    OSError
        If there is no release in a directory.

    See Also
    --------
    skdppca.report.load : The estimator of one release directory.

    Notes
    -----
    Where every part released its noisy matrix, as `DPGauss` does up to 2000 columns, the matrices
    are added, and the merged PCA is read off the sum. Each matrix has the weight of a matched
    filter: the noisier it is, the less it counts. A plain sum would be ruined by one noisy part.

    Where a part has no noisy matrix, the merged components are those of the plain mean of the
    parts' projectors. That is nearly as good as a joint fit where the parts share their components,
    and poor where most of each part's components are noise.

    Each part is about its own mean, so differences between the parts' means are no part of the
    merged variances. Private scales of the parts differ a little. Their geometric mean stands for
    all of them.

    A part that is not private makes the merged PCA not private. A directory whose curator declares
    that something was fitted on the data before, or that looking at them chose a parameter, is
    refused. A fitted estimator cannot declare that.

    A part that grew by `partial_fit` rests on a declaration of its own: different accounts are of
    different people. ``privacy_.in_all()`` says what somebody pays who is in all fits of all parts.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import skdppca
    >>> rows = load_digits().data
    >>> first = skdppca.DPGauss(n_components=3, epsilon=1.0).fit(rows[:900])
    >>> second = skdppca.DPGauss(n_components=3, epsilon=2.0).fit(rows[900:])
    >>> pca = skdppca.merge([first, second], disjoint=True)
    >>> pca.transform(rows).shape, pca.privacy_.epsilon
    ((1797, 3), 2.0)
    """
    if isinstance(releases, str | PathLike) or not isinstance(releases, Sequence):
        raise TypeError(f"releases is a {type(releases).__name__}; give a list of fits or folders")
    counts = n_components is None or (isinstance(n_components, Integral) and n_components >= 1)
    if not counts or isinstance(n_components, bool):
        raise ValueError(f"n_components={n_components!r} is no number; give 1 or more, or None")
    if not isinstance(disjoint, bool | np.bool_):
        raise TypeError(f"disjoint={disjoint!r} declares nothing; give True or False")
    given = [_given(one, f"releases[{place}]") for place, one in enumerate(releases)]
    return merged(given, bool(disjoint), None if n_components is None else int(n_components))


def _given(release: Any, called: str) -> Given:
    """A part, by a fitted estimator or a directory."""
    names = None
    if isinstance(release, str | PathLike):
        (subject, document), called = opened(Path(release)), str(release)
        if status_of(document) == "not-as-stated":
            raise ValueError(
                f"{called} says of itself that its figures do not hold as stated, so those of a "
                "merged release would not hold either; leave it out. Its page says why: skdppca "
                f"report {quote(called)}"
            )
        numbered = tuple(f"x{place}" for place in range(len(subject.names)))
        release, names = subject.fitted, None if subject.names == numbered else subject.names
    if isinstance(release, MergedPCA):
        raise ValueError(
            f"{called} was merged itself, so its parts would be weighed wrongly; give all of its "
            "parts in its place"
        )
    if not isinstance(release, BasePrivatePCA):
        raise TypeError(
            f"{called} is a {type(release).__name__}; give a fitted private PCA, or the directory "
            "of one"
        )
    check_is_fitted(release)
    if not {*COMMON, "mean"} <= {*release.privacy_.parameters}:
        raise ValueError(
            f"{called} is part of a release by {release.privacy_.method}, which does not state the "
            "PCA's parameters; merge fits of single methods"
        )
    return Given(release, called, release.privacy_.feature_names or names)
