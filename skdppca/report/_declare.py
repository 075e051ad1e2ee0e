"""Another title, and answers to what a release left unsaid, in a copy of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from ._contents import as_json, files
from ._context import Context, check_words
from ._directory import write_all
from ._release import rendered
from ._sections import templates
from ._verify import agreeing


def declare(
    directory: str | PathLike[str],
    out: str | PathLike[str],
    *,
    title: str | None = None,
    context: Context | None = None,
    force: bool = False,
) -> list[str]:
    """Write a copy of a release with another title, or with answers to what was "Not stated".

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
        If the files of the release do not agree, if an answer contradicts one that the release has
        or none is new, or if `out` is not empty.
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
    >>> found.agrees, found.document["context"]["curator"]
    (True, 'Clinic of Anytown')
    """
    source, target = Path(directory), Path(out)
    templates()
    check_words(title, context)
    if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(source)):
        raise ValueError(f"{target} lies in {source}, which stays as it is; choose another place")
    found = agreeing(source)
    earlier = dict(found.document)
    stated = {
        "title": earlier["title"] if title is None else title.strip(),
        "context": _joined(earlier["context"], (context or Context()).to_dict()),
    }
    if all(earlier[name] == stated[name] for name in stated):
        raise ValueError(
            f"{source} states all of this already; give another title, or answers to what it does "
            "not state"
        )
    document = earlier | stated
    subject = found.subject
    contents = files(subject, lambda: as_json(document), lambda: rendered(subject, document))
    return write_all(target, contents, force)


def _joined(
    earlier: Mapping[str, str | None], later: Mapping[str, str | None]
) -> dict[str, str | None]:
    """All answers; refuse one that contradicts an earlier one."""
    known = Context.from_dict(earlier).to_dict()
    for name, answer in later.items():
        if answer is not None and known[name] not in (None, answer):
            raise ValueError(
                f"the release states {name} already, and what was stated stays; leave {name} out, "
                "or tell those who have the release what was wrong"
            )
    return {name: known[name] or answer for name, answer in later.items()}
