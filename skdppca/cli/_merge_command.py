"""``skdppca merge``: one release out of several, at no privacy cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..report import ReleaseReport, merge
from ..report._directory import writing
from ..report._results import advice, results
from ._context_file import context_of
from ._json import MergeDocument
from ._out_directory import apart, not_stated, replaced, where_written, write
from ._parameter_options import Command, argument, flag, option


@dataclass(kw_only=True)
class MergeCommand(Command):
    """Combine several releases into one, at no privacy cost.

    Parameters
    ----------
    directories : list of Path
        Folders that `skdppca fit` wrote, at least two, each a release of the same columns.
    disjoint : bool
        Declare that nobody has records in two of the releases: then the guarantee is that of the
        largest part (default: the costs of all parts add up).
    n_components : int or None
        Number of components (default: as many as the smallest part has).

    Examples
    --------
    skdppca merge north/ south/ --disjoint --out both/
    """

    directories: list[Path] = argument(nargs="+", metavar="DIR")
    disjoint: bool = flag()
    n_components: int | None = option("-k", "--components", metavar="K")
    title: str | None = option(metavar="TEXT")
    context: Path | None = option(metavar="FILE")
    out: Path = option(metavar="DIR", required=True)
    force: bool = flag()
    pictures: bool = option("--no-pictures", action="store_false")
    details: bool = flag()
    json: bool = flag()

    def run(self) -> None:
        """Verify the releases, merge them, and write what came out as `fit` does."""
        apart(self.out, *self.directories)
        context = context_of(self.context)
        pca = merge(self.directories, disjoint=self.disjoint, n_components=self.n_components)
        names = None if pca.privacy_.feature_names is None else list(pca.privacy_.feature_names)
        report = ReleaseReport(
            pca, title=self.title, context=context, feature_names=names, pictures=self.pictures
        )
        earlier = replaced(self.out) if self.force else []
        with writing(self.out, self.force) as directory:
            written = write(report, directory)
        document = report.dict()
        if self.json:
            print(MergeDocument(str(self.out), written, report.no_pictures, document))
            return
        lines = results(document, details=self.details)
        lines += [where_written(self.out, written, report.no_pictures), *advice(document)]
        print("\n".join([*lines, *not_stated(self.out, self.title, context), *earlier]))
