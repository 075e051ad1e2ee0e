"""Where the experiments keep their files, and how they sum up many trials of one setting.

Raw rows, one a trial, stay on the machine that measured them: git ignores their folder. The
documentation has one row a setting and method, and the picture that is drawn from these rows.
Without the raw rows a run starts anew, and its summary replaces the one that was published. They
lie in a folder of the commit: rows of two commits never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from _common import RAW as ALL_RAW
from _common import commit

PUBLISHED = Path(__file__).parents[1] / "doc" / "experiments"
RAW = ALL_RAW / commit() / "experiments"

QUANTILES = {"low_quartile": 0.25, "median": 0.5, "high_quartile": 0.75}


def folders(folder: Path | None = None) -> tuple[Path, Path]:
    """Folders of the published files and of the raw rows, made where they are missing.

    All files of a trial run go into a `folder` of its own, and its raw rows into ``raw`` there.
    """
    published, raw = (PUBLISHED, RAW) if folder is None else (folder, folder / "raw")
    for path in (published, raw):
        path.mkdir(parents=True, exist_ok=True)
    return published, raw


def keep_others(summary: pd.DataFrame, published: Path, cell: Sequence[str]) -> pd.DataFrame:
    """The summary, and of the published one the rows of methods that were not measured now.

    Parameters
    ----------
    cell : sequence of str
        Columns that are the same for all methods of a cell: its rows stand together.
    """
    if not published.exists():
        return summary
    before = pd.read_csv(published)
    before = before[~before["method"].isin(summary["method"])]
    # the columns' types may differ: 1000 was written, and 1000.0 is read beside 0.1
    rows = pd.concat([before, summary.astype(before.dtypes.to_dict())], ignore_index=True)
    order = rows.groupby(list(cell), sort=False).ngroup()
    return rows.iloc[order.argsort(kind="stable")]


def spread(rows: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """One row a cell, in the order of the rows: trials, quartiles, extremes, mean and its error."""
    cells = rows.groupby(list(keys), sort=False)[value]
    quantiles = {f"{value}_{name}": cells.quantile(q) for name, q in QUANTILES.items()}
    columns = {
        "trials": cells.size(),
        f"{value}_min": cells.min(),
        **quantiles,
        f"{value}_max": cells.max(),
        f"{value}_mean": cells.mean(),
        f"{value}_mean_error": cells.sem(),  # NaN of one trial
    }
    return pd.DataFrame(columns).reset_index()
