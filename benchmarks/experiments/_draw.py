"""Draw a figure from its summary: no measuring here, so that pictures can change alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from experiments_files import plt

if TYPE_CHECKING:
    from _figures import Figure, Panel
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which the colour-blind can tell apart. One colour a family: the private
# method is solid, its printed original dashed.
STYLES = {
    "ResidualGauss": ("#D55E00", "-", "o"),
    "KDPPCA": ("#0072B2", "-", "s"),
    "k-DP-PCA as printed (not private)": ("#0072B2", "--", "s"),
    "KDPOjas": ("#CC79A7", "-", "^"),
    "k-DP-Ojas as printed (not private)": ("#CC79A7", "--", "^"),
    "DPGauss": ("#009E73", "-", "D"),
    "DP-Gauss-1 as printed (not private)": ("#009E73", "--", "D"),
    "DP-Gauss-2 as printed (not private)": ("#56B4E9", "--", "v"),
    "DP-Power-Method as printed (not private)": ("#E69F00", "--", "P"),
    "MOD-SuLQ as printed (not private)": ("#999999", "--", "X"),
    "Oja (no privacy)": ("#CC79A7", ":", "^"),
    "power iterations (no privacy)": ("#E69F00", ":", "P"),
    "PCA (no privacy)": ("#000000", ":", "x"),
}

# An oracle of the user's.
OWN = ("#882255", "-", "*")

CAPTION = (
    "Median of {trials} trials and its 95 % interval (of fewer than 6: their range). Dotted: no "
    "privacy, black: PCA.\nSolid or filled: private. Dashed or open: as printed, NOT PRIVATE."
)


def draw(figure: Figure, summary: pd.DataFrame, folder: Path) -> Path:
    """Save ``<name>.png``: zeta^2 on a log axis, one axes a panel, the legend outside."""
    count = len(figure.panels)
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        sheet, axes = plt.subplots(
            1, count, figsize=(4.0 * count + 3.2, 4.2), sharey=True, squeeze=False
        )
        for ax, panel in zip(axes[0], figure.panels, strict=True):
            _panel(ax, panel, summary[summary["panel"] == panel.title])
        axes[0, 0].set_ylabel(r"$\zeta^2$, share of variance missed")
        sheet.suptitle(figure.title, x=0.01, ha="left", fontsize=11)
        _legend(sheet, axes[0])
        counts = sorted({summary["trials"].min(), summary["trials"].max()})
        caption = CAPTION.format(trials=" to ".join(map(str, counts)))
        sheet.text(0.01, 0.01, caption, fontsize=7.5, color="#444444")
        sheet.tight_layout(rect=(0, 0.06, 1 - 2.9 / (4.0 * count + 3.2), 1))
        path = folder / f"{figure.name}.png"
        sheet.savefig(path, dpi=140)
        plt.close(sheet)
    return path


def _in_order(names: Iterable[str]) -> list[str]:
    """Our methods in the order of their styles, and then those of the user."""
    there = dict.fromkeys(names)
    return [*(name for name in STYLES if name in there), *(n for n in there if n not in STYLES)]


def _panel(ax: Axes, panel: Panel, cells: pd.DataFrame) -> None:
    ax.set_yscale("log")
    ax.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.set_title(panel.title, loc="left", fontsize=9)
    ax.set_xlabel(panel.xlabel)
    categories = [str(x) for x in panel.cells if isinstance(x, str)]
    names = _in_order(cells["method"])
    for number, name in enumerate(names):
        rows = cells[cells["method"] == name]
        if categories:
            at = np.array([categories.index(x) for x in rows["x"]], float)
            at += (number - (len(names) - 1) / 2) * 0.8 / len(names)
            _points(ax, at, rows, name)
        else:
            _line(ax, rows["x"].to_numpy(float), rows, name)
    if categories:
        ax.set_xticks(range(len(categories)), categories)
        for edge in np.arange(0.5, len(categories) - 1):
            ax.axvline(edge, color="#e4e4e4", linewidth=0.7)
    elif panel.log_x:
        ax.set_xscale("log")
        ax.set_xticks(
            list(panel.cells), [np.format_float_positional(x, trim="-") for x in panel.cells]
        )
        ax.minorticks_off()


def _line(ax: Axes, x: np.ndarray, rows: pd.DataFrame, name: str) -> None:
    colour, dashes, marker = STYLES.get(name, OWN)
    median, low, high = _interval(rows)
    ax.plot(x, median, dashes, color=colour, marker=marker, ms=4.5, lw=1.6, label=name)
    ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _points(ax: Axes, x: np.ndarray, rows: pd.DataFrame, name: str) -> None:
    colour, dashes, marker = STYLES.get(name, OWN)
    median, low, high = _interval(rows)
    filled = colour if dashes == "-" else "white"
    ax.errorbar(
        x, median, [median - low, high - median], color=colour, marker=marker, mfc=filled,
        ms=5, lw=1.3, ls="none", label=name,
    )  # fmt: skip


def _interval(rows: pd.DataFrame) -> list[np.ndarray]:
    """Median and its interval; what float64 cannot tell from 0 stays on the log axis."""
    ends = ("median", "median_low", "median_high")
    return [np.maximum(rows[f"zeta_squared_{end}"].to_numpy(), 1e-17) for end in ends]


def _legend(sheet: plt.Figure, axes: np.ndarray) -> None:
    entries = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    ordered = _in_order(entries)
    sheet.legend(
        [entries[name] for name in ordered], ordered, loc="center right", frameon=False,
        fontsize=8, handlelength=3.2,
    )  # fmt: skip
