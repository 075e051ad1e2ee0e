"""What was simulated before, in files of the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..privacy.storage import replaced

# The folder for the files; if it is set and empty, nothing is kept.
VARIABLE = "SKDPPCA_CACHE"


def remembered(question: dict[str, Any], answer: Callable[[], Any]) -> Any:
    """Return the answer as it was read from its file, or else found now, and kept.

    Parameters
    ----------
    question : dict
        All that the answer depends on, beside the sources: text, numbers and lists of them.
    answer : callable
        What finds it: text, numbers and lists of them.
    """
    home = folder()
    if home is None:
        return answer()
    key = json.dumps([_sources(), question], sort_keys=True)
    path = home / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    with suppress(OSError, ValueError):  # not kept, or cut short
        return json.loads(path.read_text(encoding="utf-8"))
    found = answer()
    with suppress(OSError):  # it is found again the next time
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:  # another process may read it
            file.write(json.dumps(found).encode())
    return found


def folder() -> Path | None:
    """Return where answers are kept; None if they are not."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given) if given else None
    from platformdirs import user_cache_path

    return user_cache_path("skdppca", appauthor=False) / "plans"


@cache
def _sources() -> str:
    """A digest of what simulates: this package, numpy and scipy."""
    digest = hashlib.sha256(
        f"{np.__version__} {scipy.__version__} {version('scikit-learn')}".encode()
    )
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
