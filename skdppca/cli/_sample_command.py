"""``skdppca sample``: synthetic rows from a release, and a label that says what they are."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.utils import check_random_state, gen_batches

from .._version import __version__
from ..decomposition import BasePrivatePCA
from ..privacy import PrivacyReport
from ..privacy.storage import parse_json, replaced
from ..report import verify
from ..report._contents import cell, read_file
from ..report._results import advice
from . import _parameter_options as take
from ._parameter_options import Command, argument, flag, option

SCHEMA = "skdppca-synthetic/1"

KEPT = "the mean and the covariance of the columns, as released: with their privacy noise"
NOT_KEPT = (
    "the shapes of the columns' distributions, their bounds, integers and categories, dependence "
    "beyond correlation, and which rows belong together"
)

# Bytes of a label, at most: of what this command may replace.
MOST_LABEL = 2**20

# Rights of the files, less the umask.
ANYONE = 0o666

# Rows that are written at a time.
BATCH_ROWS = 4096


@dataclass(kw_only=True)
class SampleCommand(Command):
    """Draw synthetic rows from a release, at no privacy cost.

    Parameters
    ----------
    rows : int
        How many rows to draw.
    out : Path
        The .csv to write.
    seed : int or None
        A number, to draw the same rows again; privacy does not depend on it.
    force : bool
        Replace FILE, if it is labelled as synthetic.

    Examples
    --------
    skdppca sample release/ -n 1000 -o synthetic.csv
    """

    directory: Path = argument(metavar="DIR")
    rows: int = option("-n", "--rows", type=take.at_least(1, "rows"), required=True, metavar="N")
    out: Path = option("-o", "--out", required=True, metavar="FILE")
    seed: int | None = option()
    force: bool = flag()

    def run(self) -> int:
        """Draw rows from a release whose files agree, and write them; return the exit status."""
        label = self.out.with_name(f"{self.out.name}.json")
        _check_free(self.out, label, self.force)
        found = verify(self.directory)
        if not found.agrees:
            print(found)
            return 1
        pca, names, report = found.subject.fitted, found.subject.names, found.subject.report
        if pca is None:
            raise ValueError(
                f"{self.directory} releases no components, so no rows can be drawn; give a PCA's"
            )
        # the label takes its place first: rows are never without it
        with replaced(self.out, ANYONE) as rows, replaced(label, ANYONE) as about:
            _write(rows, pca, names, self.rows, self.seed)
            about.write(f"{json.dumps(self._label(report), indent=2)}\n".encode())
        print(f"Synthetic: {self.rows} rows of {len(names)} columns; none is a record.")
        print(f"Drawn from release {report.release_id}")
        print(f"Kept: {KEPT}.\nNot kept: {NOT_KEPT}.")
        print(report.guarantee())
        if found.status in ("private", "unchecked", "open", "uncharged"):
            print("Drawing rows is not charged: they are computed from the release alone.")
        else:
            print("\n".join(advice(found.document)))
        print(f"Written: {self.out}, and {label}, which says the same")
        return 0

    def _label(self, report: PrivacyReport) -> dict[str, Any]:
        """The label of the rows, as JSON-able values."""
        return {
            "schema": SCHEMA,
            "synthetic": True,
            "file": self.out.name,
            "rows": self.rows,
            "seed": self.seed,
            "model": "normal distribution with the released mean and covariance",
            "kept": KEPT,
            "not_kept": NOT_KEPT,
            "release": {
                "id": report.release_id,
                "method": report.method,
                "private": report.private,
                "guarantee": report.guarantee(),
            },
            "software": {"skdppca": __version__},
        }


def _check_free(out: Path, label: Path, force: bool) -> None:
    """Refuse to replace any file but earlier synthetic rows, and a file that cannot be written."""
    if out.suffix.lower() != ".csv":
        raise ValueError(f"--out {out} must end in .csv; choose such a name")
    if not out.parent.is_dir():
        raise ValueError(f"--out {out} is in a directory that does not exist; make it first")
    found = [path for path in (out, label) if os.path.lexists(path)]
    if found and not (force and _is_label(label)):
        raise ValueError(
            f"{found[0]} exists; choose another --out, or pass --force, which replaces rows that "
            f"{label.name} calls synthetic"
        )


def _is_label(path: Path) -> bool:
    try:
        return bool(parse_json(read_file(path, MOST_LABEL).decode())["schema"] == SCHEMA)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _write(
    file: BinaryIO, pca: BasePrivatePCA, names: Sequence[str], n_rows: int, seed: int | None
) -> None:
    generator = check_random_state(seed)
    text = io.TextIOWrapper(file, newline="", encoding="utf-8")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(map(cell, names))
    for batch in gen_batches(n_rows, BATCH_ROWS):
        lines.writerows(pca.sample(batch.stop - batch.start, generator).tolist())
    text.detach()
    file.flush()
