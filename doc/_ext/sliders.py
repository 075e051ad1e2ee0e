"""The pages with sliders: ``.. plan-sliders::``, ``.. plan-table::``, ``.. epsilon-slider::``.

All numbers are computed and rounded here, or read from a stored table, and written into the page as
text. The script of the pages only chooses which of them to show. Without the script the tables
below the sliders have the same numbers.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import product
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from skdppca._text.digits import percent_captured
from skdppca.planner.synthetic_rows import DEFAULT, check_spectrum
from skdppca.privacy import GaussianEvent, coin, detection_rate, mu_of

if TYPE_CHECKING:  # a test uses this module without Sphinx
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
PLANS = HERE.parents[1] / "benchmarks" / "results" / "plans.csv"
SCRIPT = "sliders.js"
DELTA = 1e-6

# Kinds of tables: in words, and what the shell and Python are told.
KINDS = {
    "rows": ("Columns in one unit", "", ""),
    "units": ("Columns in different units", " --scale private", ', scale="private"'),
    "groups": ("Five rows a person", " --groups 5", ", group_size=5"),
    "tails": ("Some rows far longer than others", " --tails heavy", ', tails="heavy"'),
}

# A number of people would do if the method captures this share of the variance with it.
ENOUGH = 0.9

# Written in the place of a share where no method finds anything.
NOTHING = "noise"

# The table below the sliders is for these.
TABLE = {"kind": "rows", "d": "30", "k": "2"}
TABLE_EPSILONS = ("0.3", "1", "3", "10")

# Where the sliders stand first.
FIRST = {"n": "3000", "d": "30", "k": "2", "epsilon": "1"}

# Where the slider of the attacks stops.
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10)
FIRST_EPSILON = 1
ACCUSED = (5, 1)  # innocent people of 100
WIDTH, HEIGHT = 300, 300


def plans() -> list[dict[str, str]]:
    """Return the stored plans, one row a method."""
    lines = PLANS.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def spaced(number: int | str) -> str:
    """Write a whole number with thin spaces between thousands."""
    return f"{int(number):,}".replace(",", "\u202f")


def percent(share: float) -> str:
    """Write a share with the digits that the planner prints."""
    return percent_captured(share).replace("%", "\u202f%")


def stops(rows: list[dict[str, str]], name: str) -> list[str]:
    """Return the values that a number has in the plans, in order."""
    return sorted({row[name] for row in rows}, key=float)


def by_chance(d: int, k: int) -> float:
    """Return what k directions at random capture of the variance of the k best."""
    _, variances = check_spectrum(DEFAULT, d, k)
    return float(k / d * variances.sum() / variances[:k].sum())


def enough(captured: dict[int, float]) -> int | None:
    """Return the least number of people from which on all stored plans capture enough."""
    least = None
    for n in sorted(captured, reverse=True):
        if captured[n] < ENOUGH:
            break
        least = n
    return least


def answers(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Return all that the sliders show, as text. Of each plan the recommended method is the first.

    Of a plan in which no method finds anything, "nothing" has the number of people that would do,
    or no text where none does.
    """
    names = ("n", "d", "k", "epsilon")
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    along: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        setting = tuple(row[name] for name in ("kind", *names))
        found.setdefault(setting, []).append(row)
        curve = (row["kind"], row["d"], row["k"], row["epsilon"], row["method"])
        along.setdefault(curve, {})[int(row["n"])] = float(row["captured"])
    would_do = {curve: enough(captured) for curve, captured in along.items()}

    methods = sorted({row["method"] for row in rows})

    def line(row: dict[str, str]) -> list[Any]:
        least = would_do[row["kind"], row["d"], row["k"], row["epsilon"], row["method"]]
        shares = [percent(float(row[name])) for name in ("captured", "low", "high")]
        return [methods.index(row["method"]), *shares, least and spaced(least)]

    values = {name: stops(rows, name) for name in names}
    return {
        "stops": values,
        "names": {
            "n": [f"{spaced(n)} people" for n in values["n"]],
            "d": [f"{d} columns" for d in values["d"]],
            "k": [f"{k} component{'s' * (k != '1')}" for k in values["k"]],
            "epsilon": [f"epsilon {epsilon}" for epsilon in values["epsilon"]],
        },
        "methods": methods,
        "kinds": [[kind, *told] for kind, (_, *told) in KINDS.items()],
        "enough": percent(ENOUGH),
        "most": spaced(values["n"][-1]),
        "chance": {
            f"{d},{k}": percent(by_chance(int(d), int(k)))
            for d, k in product(values["d"], values["k"])
        },
        "nothing": {
            ",".join(setting): spaced(lines[0]["enough"]) if lines[0]["enough"] else ""
            for setting, lines in found.items()
            if lines[0]["nothing"]
        },
        "plans": {
            ",".join(setting): [line(row) for row in lines] for setting, lines in found.items()
        },
    }


def plan_table(rows: list[dict[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table below the sliders: the recommended method."""
    shown = {
        (row["n"], row["epsilon"]): NOTHING if row["nothing"] else percent(float(row["captured"]))
        for row in rows
        if row["recommended"] and all(row[name] == value for name, value in TABLE.items())
    }
    head = ["people", *(f"epsilon {epsilon}" for epsilon in TABLE_EPSILONS)]
    return head, [
        [spaced(n), *(shown[n, epsilon] for epsilon in TABLE_EPSILONS)] for n in stops(rows, "n")
    ]


def of_100(share: float) -> int:
    """Return a share as a number of 100 people, rounded up."""
    return min(math.ceil(100 * share), 100)


def attacks() -> Iterator[dict[str, Any]]:
    """Yield, for each stop, how many of 100 members are found, and the curve in the picture."""
    alarms = np.r_[0, ndtr(np.linspace(-4, 4, 81)), 1]
    for epsilon in EPSILONS:
        event = GaussianEvent(mu_of(epsilon, DELTA))
        found = np.asarray(detection_rate(event, alarms))
        xs, ys = WIDTH * alarms, HEIGHT * (1 - np.ceil(found * 1000) / 1000)
        yield {
            "epsilon": f"{epsilon:g}",
            "found": [of_100(detection_rate(event, accused / 100)) for accused in ACCUSED],
            "coin": of_100(coin(event)),
            "curve": "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True)),
        }


def sentences(attack: dict[str, Any]) -> list[str]:
    """Say what an attack achieves at most, with the words of the table's head."""
    many, few = ACCUSED
    return [
        f"At epsilon {attack['epsilon']}: of 100 innocent people {many} are accused. Then at most "
        f"{attack['found'][0]} of 100 members are found.",
        f"If only {few} of 100 innocent people is accused, at most {attack['found'][1]} of 100 "
        "members are found.",
        f"A coin decided whether one record was used. Whoever guesses the coin is right at most "
        f"{attack['coin']} times of 100. Without the release it is 50 times.",
    ]


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose heads say what they are heads of."""
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for first, *cells in rows
    )
    return (
        '<div class="pst-scrollable-table-container"><table class="table">\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table></div>\n"
    )


def slider(name: str, label: str, names: Sequence[str], at: int) -> str:
    """Return a slider with its label and what it stands at."""
    return (
        f'<div><label for="try-{name}">{escape(label)}</label>'
        f'<input type="range" id="try-{name}" min="0" max="{len(names) - 1}" step="1" '
        f'value="{at}" aria-valuetext="{escape(names[at])}">'
        f'<output for="try-{name}">{escape(names[at])}</output></div>\n'
    )


def stored(id_: str, numbers: Any) -> str:
    """Return data as a part of the page that its script reads."""
    text = json.dumps(numbers, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{id_}">{text}</script>\n'


def filled(name: str, **parts: str) -> str:
    """Return a template of this folder with its parts."""
    return Template((HERE / name).read_text(encoding="utf-8")).substitute(parts)


def plan_sliders() -> str:
    """Return the sliders of the plans."""
    found = answers(plans())
    labels = {"n": "People", "d": "Columns", "k": "Components", "epsilon": "Epsilon"}
    sliders = "".join(
        slider(name, label, found["names"][name], found["stops"][name].index(FIRST[name]))
        for name, label in labels.items()
    )
    kinds = "".join(
        f'<option value="{kind}">{escape(words)}</option>' for kind, (words, *_) in KINDS.items()
    )
    return filled(
        "plan_sliders.html",
        sliders=sliders,
        kinds=kinds,
        enough=percent(ENOUGH),
        data=stored("try-plans", found),
    )


def epsilon_slider() -> str:
    """Return the slider of the attacks, and the table of all its stops."""
    found = list(attacks())
    names = [f"epsilon {attack['epsilon']}" for attack in found]
    at = EPSILONS.index(FIRST_EPSILON)
    texts = [{"says": sentences(attack), "curve": attack["curve"]} for attack in found]
    many, few = ACCUSED
    head = [
        "epsilon",
        f"found of 100 members, {many} of 100 innocent accused",
        f"found of 100 members, {few} of 100 innocent accused",
        "coin guessed, of 100",
    ]
    rows = [
        [attack["epsilon"], *map(str, attack["found"]), str(attack["coin"])] for attack in found
    ]
    caption = "At most, for one record, Gaussian releases, delta 1e-6. All figures are rounded up."
    return filled(
        "epsilon_slider.html",
        slider=slider("attack", "Epsilon", names, at),
        says="".join(f"<p>{escape(text)}</p>" for text in texts[at]["says"]),
        curve=texts[at]["curve"],
        data=stored("try-attacks", {"names": names, "attacks": texts}),
    ) + table(caption, head, rows)


def below_the_sliders() -> str:
    """Return the table below the sliders of the plans."""
    caption = (
        f"Share of the variance to expect of the recommended method: {TABLE['d']} columns, "
        f'{TABLE["k"]} components, one row a person, delta 1e-6; "{NOTHING}" where no method finds '
        "anything."
    )
    return table(caption, *plan_table(plans()))


WRITTEN = {
    "plan-sliders": plan_sliders,
    "plan-table": below_the_sliders,
    "epsilon-slider": epsilon_slider,
}


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the script to the pages with sliders only."""
    if app.env.metadata.get(pagename, {}).get("sliders"):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Written(SphinxDirective):
        """What one of the functions above writes."""

        def run(self) -> list[nodes.Node]:
            """Return the part of the page."""
            self.env.note_dependency(str(PLANS))
            self.env.metadata[self.env.docname]["sliders"] = "yes"
            return [nodes.raw("", WRITTEN[self.name](), format="html")]

    for name in WRITTEN:
        app.add_directive(name, Written)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
