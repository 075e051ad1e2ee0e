"""Commands that install an extra of this package from where this copy came from.

No index has the package, so a remedy that names it alone would install whatever somebody else
uploads under its name.
"""

from __future__ import annotations

import json
from importlib.metadata import Distribution, distributions
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit

NAME = "skdppca"

# Where a copy lies that was not installed, but is run from its source.
SOURCE = Path(__file__).parents[2]


def how_to_install(extra: str) -> str:
    """The command that installs an extra from the folder, file or repository of this copy.

    Parameters
    ----------
    extra : str
        Such as "report".

    Returns
    -------
    str
        It may name a folder of this machine, so it is for errors, and not for what is published.
    """
    return f"pip install {_source(extra)}"


def _source(extra: str) -> str:
    """Return the requirement to give to pip."""
    found = _distribution()
    if found is None:
        return quote(f"{SOURCE}[{extra}]")
    text = found.read_text("direct_url.json")
    if not text:
        return quote(f"{NAME}-{found.version}-py3-none-any.whl[{extra}]")
    origin = json.loads(text)
    url, revision = origin["url"], origin.get("vcs_info")
    if revision is not None:
        return quote(f"{NAME}[{extra}] @ {revision['vcs']}+{url}@{revision['commit_id']}")
    if urlsplit(url).scheme != "file":
        return quote(f"{NAME}[{extra}] @ {url}")
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return editable + quote(f"{unquote(urlsplit(url).path)}[{extra}]")


def _distribution() -> Distribution | None:
    """Return the metadata of this copy that name its origin; None if it is run from its source.

    Beside an installed copy, a build leaves metadata in the source folder that do not say it.
    """
    found = list(distributions(name=NAME))
    return next((one for one in found if one.read_text("direct_url.json")), next(iter(found), None))
