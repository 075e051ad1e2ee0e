"""Write the files of a release. They contain released attributes only."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from operator import methodcaller
from typing import BinaryIO

import numpy as np

from ..decomposition import BasePrivatePCA
from ._directory import Directory, Write
from ._page import page
from ._pictures import IMAGES, SCREE, draw

__all__ = ["ARRAYS", "FILES", "PAGE", "REPORT", "TABLE", "cell", "files", "write"]

ARRAYS, TABLE, REPORT, PAGE = "components.npz", "components.csv", "report.json", "report.html"
FILES = (ARRAYS, TABLE, REPORT, PAGE, SCREE, IMAGES)

# A spreadsheet may run a cell that begins so as a formula, also in full width (OWASP, "CSV
# Injection"). A quote before it makes it text.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write(
    pca: BasePrivatePCA,
    directory: Directory,
    names: Sequence[str],
    shape: tuple[int, int] | None = None,
    pictures: bool = True,
) -> tuple[list[str], str]:
    """Write a release, the most important files first, and move it into place.

    Parameters
    ----------
    pca : fitted private PCA
    directory : Directory
        Files of an earlier release in it are replaced or removed.
    names : sequence of str
        Of the features.
    shape : (int, int), optional
        Height and width, if a row is an image. The components are then drawn as images, too.
    pictures : bool, default=True

    Returns
    -------
    names : list of str
        Of the files.
    why : str
        Why there are no pictures; empty if there are.

    Raises
    ------
    OSError
        If a file could not be written. The others are left apart, and nothing was replaced.
    """
    drawn: dict[str, bytes] = {}
    why = "left out by --no-pictures"
    if pictures:
        try:
            drawn = draw(pca, shape)
            why = "" if drawn else "this fit released no variances, which they show"
        except ImportError:
            why = "they need matplotlib; pip install 'skdppca[plot]'"
        except Exception as error:  # the other files are worth more than a picture
            why = f"matplotlib failed with {type(error).__name__}"
    lost = []
    for name, content in files(pca, names, drawn).items():
        try:
            directory.add(name, content)
        except ImportError as error:  # it says what to install
            lost.append(f"{name} ({error})")
        except Exception as error:
            lost.append(f"{name} ({getattr(error, 'strerror', None) or type(error).__name__})")
    if lost:
        raise OSError(f"not written: {', '.join(lost)}")
    return directory.publish(), why


def files(
    pca: BasePrivatePCA, names: Sequence[str], pictures: Mapping[str, bytes]
) -> dict[str, Write]:
    """Return what writes each file of a release, by the file's name, the most important first."""
    return {
        ARRAYS: lambda file: _write_arrays(pca, file, names),
        TABLE: lambda file: _write_table(pca, file, names),
        REPORT: lambda file: file.write(f"{pca.privacy_.to_json()}\n".encode()),
        **{name: methodcaller("write", picture) for name, picture in pictures.items()},
        PAGE: lambda file: file.write(page(pca, names, pictures).encode()),
    }


def _write_arrays(pca: BasePrivatePCA, file: BinaryIO, names: Sequence[str]) -> None:
    """Write the fitted attributes as they are: the report holds their hashes."""
    arrays = {
        released.name: getattr(pca, f"{released.name}_") for released in pca.privacy_.released
    }
    np.savez(file, **arrays, feature_names=np.array(names, dtype=str))


def _write_table(pca: BasePrivatePCA, file: BinaryIO, names: Sequence[str]) -> None:
    """Write one line per feature: name, mean, private scale if any, entry in each component."""
    columns = {"mean": pca.mean_}
    if hasattr(pca, "scale_"):
        columns["scale"] = pca.scale_
    text = io.TextIOWrapper(file, newline="", encoding="utf-8")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["feature", *columns, *(f"pc{i + 1}" for i in range(pca.n_components_))])
    for name, *entries in zip(names, *columns.values(), *pca.components_, strict=True):
        lines.writerow([cell(name), *map(float, entries)])
    text.detach()


def cell(name: str) -> str:
    """A name as text that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(FORMULA) else name
