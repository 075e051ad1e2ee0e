"""``skdppca merge``: one release out of several, at no privacy cost."""

from __future__ import annotations

import argparse

from ..report import ReleaseReport
from ..report import merge as merged
from ..report._contents import FILES
from ..report._directory import claimed
from ..report._release import check_libraries
from ..report._results import advice, not_stated, results
from ._context_file import context_of
from ._json import Merged
from ._out_directory import apart, replaced, write


def merge(options: argparse.Namespace) -> None:
    """Verify the releases, merge them, and write what came out as `fit` does."""
    check_libraries()
    apart(options.out, *options.directories)
    words = {"title": options.title, "context": context_of(options.context)}
    pca = merged(options.directories, disjoint=options.disjoint, n_components=options.n_components)
    names = None if pca.privacy_.feature_names is None else list(pca.privacy_.feature_names)
    report = ReleaseReport(pca, feature_names=names, pictures=options.pictures, **words)
    earlier = replaced(options.out) if options.force else []
    with claimed(options.out, FILES, options.force) as directory:
        written = write(report, directory)
    document = report.dict()
    if options.json:
        print(Merged(str(options.out), written, report.no_pictures, document))
        return
    print("\n".join(results(document, details=options.details)))
    print(f"Written to {options.out}/: {', '.join(written)}")
    if report.no_pictures:
        print(f"No pictures: {report.no_pictures}")
    unstated = not_stated(options.out, *words.values())
    print("\n".join([*advice(document), *unstated, *earlier]))
