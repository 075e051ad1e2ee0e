"""A release that was written to files, as the fitted estimator that it was."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..decomposition.fitted import read_only
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
        Of the class that made the release. Each released array is the stored one, bit for bit, and
        cannot be written to. `privacy_` is the stored report. Parameters are those of the fit, but
        for `accountant`, `random_state`, `n_jobs` and `verbose`, which no file holds: give them
        before you fit again.

    Raises
    ------
    ValueError
        If the files do not agree, or hold no PCA, or one that a search chose.
    OSError
        If there is no release.
    ImportError
        Without the extra ``report``, which verifies the files.

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
