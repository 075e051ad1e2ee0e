"""Write the files of a release. They contain released attributes only."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import plotting
from ..decomposition import BasePrivatePCA
from ._page import page

__all__ = ["FILES", "REPORT", "SCREE", "write"]

ARRAYS, TABLE, REPORT, PAGE = "components.npz", "components.csv", "report.json", "report.html"
SCREE, IMAGES = "scree.png", "components.png"
FILES = (ARRAYS, TABLE, REPORT, PAGE, SCREE, IMAGES)

DOTS_PER_INCH = 150


def write(
    pca: BasePrivatePCA,
    out: Path,
    names: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
) -> list[str]:
    """Write a release, the most important files first.

    Parameters
    ----------
    pca : fitted private PCA
    out : Path
        A directory; files of an earlier release in it are replaced or removed.
    names : sequence of str, optional
        Names of the features. By default those that `pca` was fitted with, or x0, x1, ...
    shape : (int, int), optional
        Height and width, if a row is an image. The components are then drawn as images, too.

    Returns
    -------
    list of str
        The names of the files. There are no pictures without matplotlib.
    """
    if names is None:
        names = getattr(pca, "feature_names_in_", [f"x{i}" for i in range(pca.n_features_in_)])
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    _write_arrays(pca, out / ARRAYS, names)
    _write_table(pca, out / TABLE, names)
    (out / REPORT).write_text(pca.privacy_.to_json() + "\n", encoding="utf-8")
    pictures = _pictures(pca, shape)
    for name, picture in pictures.items():
        (out / name).write_bytes(picture)
    (out / PAGE).write_text(page(pca, names, pictures), encoding="utf-8")
    return [ARRAYS, TABLE, REPORT, PAGE, *pictures]


def _write_arrays(pca: BasePrivatePCA, path: Path, names: Sequence[str]) -> None:
    arrays: dict[str, Any] = {
        "components": pca.components_,
        "mean": pca.mean_,
        "explained_variance": pca.explained_variance_,
        "explained_variance_ratio": pca.explained_variance_ratio_,
        "singular_values": pca.singular_values_,
        "noise_variance": pca.noise_variance_,
        "n_samples": pca.n_samples_,
        "feature_names": np.array(names, dtype=str),
        **_scales(pca),
    }
    np.savez(path, **arrays)


def _scales(pca: BasePrivatePCA) -> dict[str, np.ndarray]:
    """The private scales, if the fit divided the features by them."""
    return {"scale": pca.scale_} if hasattr(pca, "scale_") else {}


def _write_table(pca: BasePrivatePCA, path: Path, names: Sequence[str]) -> None:
    """Write one line per feature: name, mean, private scale if any, entry in each component."""
    columns = {"mean": pca.mean_, **_scales(pca)}
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["feature", *columns, *(f"pc{i + 1}" for i in range(pca.n_components_))])
        for name, *entries in zip(names, *columns.values(), *pca.components_, strict=True):
            lines.writerow([name, *map(float, entries)])


def _pictures(pca: BasePrivatePCA, shape: tuple[int, int] | None) -> dict[str, bytes]:
    try:
        figures: dict[str, Any] = {SCREE: plotting.scree(pca).figure}
    except ImportError:
        return {}
    if shape is not None:
        figures[IMAGES] = plotting.components_image(pca, shape)
    pictures = {}
    for name, figure in figures.items():
        figure.savefig(buffer := io.BytesIO(), format="png", dpi=DOTS_PER_INCH)
        pictures[name] = buffer.getvalue()
    return pictures
