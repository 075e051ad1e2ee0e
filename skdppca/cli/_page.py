"""A page that tells a release to people: one file, nothing to load."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..decomposition import BasePrivatePCA

__all__ = ["page", "templates"]

# Rows of the components' table, and features named in each.
MAX_ROWS = 30
LARGEST = 5


def templates() -> Any:
    """jinja2's environment; what a fit asks for before it is charged, for it writes a page.

    Raises
    ------
    ImportError
        Without jinja2.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError(
            "The page of a release needs jinja2. Install it: pip install 'skdppca[cli]'"
        ) from None
    return Environment(
        loader=PackageLoader("skdppca.cli"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(pca: BasePrivatePCA, names: Sequence[str], pictures: Mapping[str, bytes]) -> str:
    """The page as HTML text.

    Parameters
    ----------
    pca : fitted private PCA
    names : sequence of str
        Of the features.
    pictures : mapping of str to bytes
        PNG files by name; they are put into the page.
    """
    alignments = pca.privacy_.details.get("alignments")
    has_variances = hasattr(pca, "explained_variance_")
    return (
        templates()
        .get_template("page.html")
        .render(
            pca=pca,
            report=pca.privacy_,
            pictures={name: b64encode(picture).decode() for name, picture in pictures.items()},
            alignments=alignments,
            has_variances=has_variances,
            rows=[
                {
                    "variance": pca.explained_variance_[i] if has_variances else None,
                    "share": pca.explained_variance_ratio_[i] if has_variances else None,
                    "alignment": None if alignments is None else alignments[i],
                    "largest": _largest(component, names),
                }
                for i, component in enumerate(pca.components_[:MAX_ROWS])
            ],
        )
    )


def _largest(component: np.ndarray, names: Sequence[str]) -> str:
    return ", ".join(
        f"{names[j]} {component[j]:+.2f}" for j in np.argsort(-np.abs(component))[:LARGEST]
    )
