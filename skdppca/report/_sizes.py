"""How large the files of a release can be, by the shapes that its report declares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..privacy import PrivacyReport, Released
from ..privacy.storage import MAX_LENGTH
from ._archive import OVERHEAD
from ._contents import PAGE, arrays_file, table_file
from ._directory import REPORT

# Most bytes of one archive: all components of 16 000 features.
MOST_BYTES = 2**31

# Names of features that a report does not hold itself.
UNKNOWN = MAX_LENGTH

NUMBERS = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)")

# Bytes of a number in a table, with its comma.
DIGITS = 25

# Bytes of a picture, at most: its frame, what is drawn for each component or charge, and for each
# feature (a pixel); and all of it.
FRAME = 2**20
A_MARK = 2**10
A_PIXEL = 2**7
MOST_DRAWN = 2**26

# How often a page may have a picture, and the letters of a report: &#39; is one, and a title stands
# there twice.
SHOWN = 2
LONGER = 16


def archived(released: Sequence[Released], names: Sequence[str] | None = None) -> int:
    """About how many bytes arrays and names of features take in an archive, and no fewer.

    Raises
    ------
    ValueError
        If there is no such array, or if they are larger than a release may be.
    """
    total = OVERHEAD * (len(released) + 1)
    for one in released:
        if not NUMBERS.fullmatch(one.dtype) or min(one.shape, default=0) < 0:
            raise ValueError(f"{one.name} is declared with a type or a shape that no array has")
        total += prod(one.shape) * np.dtype(one.dtype).itemsize
    if names:
        total += 4 * len(names) * max(map(len, names))
    if total > MOST_BYTES:
        raise ValueError(
            f"arrays and names take more than {MOST_BYTES / 2**30:g} GiB, and no release holds "
            "more; set keep_matrix=False if there is a matrix, or release fewer components"
        )
    return total


def most_bytes(
    document: Mapping[str, Any], reports: Sequence[PrivacyReport], length: int
) -> dict[str, int]:
    """How many bytes each file of a release can have, by its name.

    Parameters
    ----------
    document : dict
    reports : sequence of PrivacyReport
        Those of the document, whose arrays `archived` allows.
    length : int
        Of the document's text.
    """
    found, marks, pixels = {REPORT: length}, 0, 0
    for place, report in enumerate(reports):
        names = report.feature_names
        told = UNKNOWN if names is None else sum(map(len, names))
        held = archived(report.released, names)
        found[arrays_file(place)] = held + (UNKNOWN if names is None else 0)
        for one in report.released:
            if one.name == "components":
                *count, features = one.shape or (1,)
                rows = prod(count)
                cells = (rows + 3) * (features + 1)
                found[table_file(place)] = DIGITS * cells + min(8 * told, 2 * UNKNOWN) + FRAME
                marks, pixels = marks + rows, pixels + features
    charges = 0 if document["ledger"] is None else int(document["ledger"]["n_charges"])
    picture = min(FRAME + A_MARK * (marks + charges) + A_PIXEL * pixels, MOST_DRAWN)
    found |= {f"{one['name']}.svg": picture for one in document["pictures"]}
    words = FRAME + LONGER * length + SHOWN * picture * len(document["pictures"])
    return found | {PAGE: words}
