"""State afterwards what was left unsaid when a release was written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO

from ._context import Context, check_words
from ._directory import Write, claimed
from ._files import FILES, PAGE, REGISTRY, REPORT, SIGNATURE, as_json
from ._page import page
from ._registry import registry
from ._release import check_libraries
from ._verify import verify

__all__ = ["declare", "restated"]

# What holds the words; every other file is copied as it is.
WORDS = (REPORT, REGISTRY, PAGE)


def declare(
    directory: str | PathLike[str],
    out: str | PathLike[str],
    *,
    title: str | None = None,
    context: Context | None = None,
    force: bool = False,
) -> list[str]:
    """Write a copy of a release that states more: a title, or what was "Not stated".

    It reads no data, costs nothing, and changes no number. An answer that the release has stays: it
    was given to somebody. A signature of the first release is not of this one: sign it again.

    Parameters
    ----------
    directory : str or path-like
        What `ReleaseReport.write` or ``skdppca fit --out`` wrote.
    out : str or path-like
        Where the copy goes; another directory.
    title : str, optional
        In the place of the release's title.
    context : Context, optional
        Answers to what the release does not state.
    force : bool, default=False
        Whether an earlier release in `out` may be replaced.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    ValueError
        If the files of the release do not agree, if an answer contradicts one that the release has,
        or if `out` is not empty.
    OSError
        If there is no release, or `out` cannot be written to.
    ImportError
        Without the extra ``report``.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from skdppca import DPGauss
    >>> from skdppca.report import Context, ReleaseReport, declare, verify
    >>> pca = DPGauss(n_components=2, epsilon=1.0).fit(load_digits().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ReleaseReport(pca, pictures=False).write(f"{folder}/first")
    ...     stated = Context(curator="Clinic of Anytown")
    ...     _ = declare(f"{folder}/first", f"{folder}/second", context=stated)
    ...     found = verify(f"{folder}/second")
    >>> found.passed, found.document["context"]["curator"]
    (True, 'Clinic of Anytown')
    """
    check_libraries()
    contents = restated(Path(directory), Path(out), title, context)
    with claimed(Path(out), FILES, force, "force=True") as place:
        for name, write in contents.items():
            place.add(name, write)
        return place.publish()


def restated(
    source: Path, target: Path, title: str | None, context: Context | None
) -> dict[str, Write]:
    """What writes each file of a release that states more, by its name, as `declare` does."""
    check_words(title, context)
    if target.resolve().is_relative_to(source.resolve()):
        raise ValueError(f"{target} lies in {source}, which stays as it is; choose another place")
    found = verify(source)
    if not found.passed:
        raise ValueError(
            f"the files of {source} do not agree, so no more is stated of them; to see what "
            f"differs: skdppca verify {quote(str(source))}"
        )
    document: dict[str, Any] = {
        **found.document,
        "title": found.document["title"] if title is None else title,
        "context": _joined(found.document["context"], (context or Context()).to_dict()),
    }
    kept = {
        path.name: path.read_bytes()
        for path in map(source.joinpath, FILES)
        if path.name not in (*WORDS, SIGNATURE) and path.exists()
    }
    pictures = {
        name: kept[f"{name}.svg"].decode() for name in (one["name"] for one in document["pictures"])
    }
    words = {
        REPORT: as_json(document),
        REGISTRY: registry(document),
        PAGE: page(document, pictures),
    }
    contents = kept | {name: text.encode() for name, text in words.items()}
    return {name: partial(_write, content) for name, content in contents.items()}


def _joined(
    earlier: Mapping[str, str | None], later: Mapping[str, str | None]
) -> dict[str, str | None]:
    """All answers; refuse one that contradicts an earlier one."""
    for name, answer in later.items():
        if answer is not None and earlier.get(name) not in (None, answer):
            raise ValueError(
                f"the release states {name} already, and what was stated stays; leave {name} out, "
                "or tell those who have the release what was wrong"
            )
    return {name: earlier.get(name) or answer for name, answer in later.items()}


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)
