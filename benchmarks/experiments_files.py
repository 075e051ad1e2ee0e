"""Where the experiments keep their files, and how they sum up many trials of one setting.

The documentation has one row a setting and method, and the picture that is drawn from these rows.
Single trials stay on the machine that measured them, in a folder of the commit that git ignores.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from _common import RAW as ALL_RAW
from _common import commit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PUBLISHED = Path(__file__).parents[1] / "doc" / "experiments"
RAW = ALL_RAW / commit() / "experiments"
DATA = {"type": Path, "default": os.environ.get("SKDPPCA_DATA"), "help": "the saved matrices"}
DRAW_ONLY = {"action": "store_true", "help": "from the saved summary"}
QUANTILES = {"low_quartile": 0.25, "median": 0.5, "high_quartile": 0.75}


def options(doc: str, *, repeats: int = 0, **more: dict[str, Any]) -> argparse.Namespace:
    """Parse the command line of an experiment; the folder that it names is made.

    Parameters
    ----------
    repeats : int
        How many are published; no option where there are none.
    more : dict
        Further options, and how `argparse` takes them; `DATA` and `DRAW_ONLY` are two.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=PUBLISHED, help="where all files lie and go")
    if repeats:
        parser.add_argument("--repeats", type=int, default=repeats)
    for name, asked in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **asked)
    found = parser.parse_args()
    found.folder.mkdir(parents=True, exist_ok=True)
    return found


def experiment(
    doc: str,
    name: str,
    measure: Callable[[argparse.Namespace], pd.DataFrame],
    draw: Callable[[pd.DataFrame], plt.Figure],
    **more: Any,
) -> None:
    """Command line of an experiment with one picture: measure its table, or read it, and draw."""
    asked = options(doc, draw_only=DRAW_ONLY, **more)
    saved = asked.folder / f"{name}.csv"
    if not asked.draw_only:
        measure(asked).to_csv(saved, index=False, float_format="%.6g")
    sheet = draw(pd.read_csv(saved))
    sheet.savefig(asked.folder / f"{name.removesuffix('_summary')}.png", dpi=110)
    plt.close(sheet)


def panel(ax: Axes, title: str, xlabel: str = "") -> None:
    """Dress one pair of axes."""
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_xlabel(xlabel)
    ax.grid(color="#e4e4e4", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)


def keep_others(summary: pd.DataFrame, published: Path, cell: Sequence[str]) -> pd.DataFrame:
    """The summary, and of the published one the rows of methods that were not measured now.

    Parameters
    ----------
    cell : sequence of str
        Columns that are the same for all methods of a cell: its rows stand together.
    """
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
