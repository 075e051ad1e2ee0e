"""A rehearsal of a fit: what fails with it would fail after the charge."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..decomposition import DPGauss
from ..decomposition.dp_gauss import LARGEST_KEPT
from ..exceptions import CentreNotSeenWarning, NoiseOnlyWarning
from ..privacy import PrivacyAccountant, PrivacyLedger, Released
from ..report import ReleaseReport
from ..report._contents import archived
from ..report._directory import Directory

if TYPE_CHECKING:
    from ._fit_command import FitCommand

# A made-up release has this many features and components, as many as pictures show at most.
MADE_UP = 20

# Charges of the made-up account: as many as a report lists. More of them add only marks to a
# picture, A_MARK bytes each, and a third more of these in the page.
MOST_LISTED = 13
A_MARK = 2**8

# A number takes 8 bytes in the archive, and about 25 as text.
BYTES_A_NUMBER = 33


def rehearse(
    options: FitCommand,
    names: Sequence[str],
    unit: str,
    ledger: PrivacyLedger | None,
    words: dict[str, Any],
    directory: Directory,
) -> None:
    """Try all that could fail after the charge, and hold room on the disk for the release.

    Parameters
    ----------
    options : FitCommand
    names : sequence of str
        Names of the features.
    unit : str
    ledger : PrivacyLedger or None
    words : dict
        What the `ReleaseReport` has beside the fit.
    directory : Directory
        Where the release will be written.

    Raises
    ------
    ValueError, ImportError, OSError
        Nothing in the message depends on the data.
    """
    # a release that grows keeps its matrix, however large
    kept = len(names) if options.update is not None or len(names) <= LARGEST_KEPT else 0
    arrays = room_for(names, options.n_components, kept)
    receipts = () if ledger is None else ledger.receipts
    budget = PrivacyAccountant(1.0, 1e-6, adjacency=options.adjacency, unit=unit)
    for receipt in receipts[-MOST_LISTED:]:
        budget.charge_external(receipt.label or "a fit", mu=1e-3, adjacency=options.adjacency)
    report = _made_up(names[:MADE_UP], budget, words)
    sizes = [arrays, 3 * A_MARK * len(receipts)]
    for content in report._files().values():
        content(file := io.BytesIO())
        sizes.append(len(file.getbuffer()))
    if report.no_pictures.startswith("matplotlib failed"):
        raise ValueError(
            f"{report.no_pictures}; nothing was charged; repair it (pip install --force-reinstall "
            "matplotlib), or pass --no-pictures"
        )
    directory.reserve(sizes)


def room_for(names: Sequence[str], n_components: int | float | str, kept: int) -> int:
    """About how many bytes the numbers and names of a release take in all files.

    Parameters
    ----------
    names : sequence of str
    n_components : int, float or str
    kept : int
        Columns of the matrix that the release keeps; 0 if it keeps none.

    Raises
    ------
    ValueError
        If it is more than a reader of a release accepts.
    """
    count = n_components if isinstance(n_components, int) else len(names)
    arrays = {"components": (count, len(names)), "matrix": (kept, kept)}
    archived([Released(name, of, "float64", "") for name, of in arrays.items()], names)
    return 8 * kept**2 + len(names) * BYTES_A_NUMBER * (count + 3) + 3 * sum(map(len, names))


def _made_up(
    names: Sequence[str], budget: PrivacyAccountant, words: dict[str, Any]
) -> ReleaseReport:
    """A release of made-up data, by the code that makes the real one."""
    # all components, so variances are released, and drawn, however few the rows are
    pca = DPGauss(None, epsilon=0.5, accountant=budget)
    pca.set_params(adjacency=budget.adjacency, unit=budget.unit)
    groups = None if budget.unit == "row" else np.arange(MADE_UP)
    with warnings.catch_warnings():
        for category in (CentreNotSeenWarning, NoiseOnlyWarning):  # of what is made up
            warnings.simplefilter("ignore", category)
        pca.fit(np.eye(MADE_UP, len(names)), groups=groups)
    return ReleaseReport(pca, feature_names=names, **words)
