"""Words in a report where the noise hid the records: released, as every answer is."""

from __future__ import annotations

from dataclasses import replace

from ..private_data import Public
from .base import Release

ABOUT_START = (
    "mean_ is the point where the search began, and the components are of the rows about it, so "
    "the first one may point to where the rows are"
)
ELSEWHERE = "differences of pairs of rows need no centre, but all rows in memory"
NO_SCALE = "the components are of the directions of the rows, and no variance has a scale"


def with_unseen(
    release: Release,
    public: Public,
    *,
    no_centre: bool = False,
    no_norms: bool = False,
    paired: bool = False,
) -> Release:
    """Say in a release what the noise hid.

    Parameters
    ----------
    release : Release
    public : Public
    no_centre, no_norms : bool
        The records' distances, or how long they are, were looked for and not seen; released.
    paired : bool
        The method takes pairs of rows that are all in memory where no centre is seen.
    """
    details = dict(release.details)
    if no_centre:
        elsewhere = paired and not (public.in_memory or public.grouped)
        details["no_centre"] = f"{ABOUT_START}; {ELSEWHERE}" if elsewhere else ABOUT_START
    elif no_norms:
        details["no_norms"] = NO_SCALE
    return replace(release, details=details)
