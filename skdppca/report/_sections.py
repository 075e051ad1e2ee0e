"""What a report says, made of its document alone: facts for the templates that hold its words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from .._text import INTERACTION, digits, is_one, protected_together, shown
from ..privacy import GaussianEvent, PrivacyReport, epsilon_of_event
from ..privacy.fit_report import MERGED, NO_LEDGER, SITES_LEDGERS
from ..privacy.gdp import float_up
from ..privacy.installing import how_to_install
from ..privacy.parts import is_merged, parts_of
from ._context import DECISIVE, HAZARDS, LABELS, Answer
from ._document import reports_of
from ._found import FIRST, MOST_LINES, beyond, found
from ._pictures import Picture

Document = Mapping[str, Any]

# Facts that a parameter declares to be public: they are not computed, and cost nothing.
DECLARED = {"mean": None, "norm_bound": None, "scale": None, "tails": "light", "gap": "unknown"}

# The state of the box by where a fit was charged, the weakest first, and the line of its budget.
STATES = {
    "nowhere": ("uncharged", NO_LEDGER),
    "parts": ("merged", MERGED),
    "sites": ("sites", SITES_LEDGERS),
}

# Digits of an accountant's id in the line of a budget.
DIGITS = 16

# Parameters that say nothing about the release.
HIDDEN = ("accountant", "n_jobs", "verbose")

# Characters of one value of a parameter.
LONGEST = 60

# Digits of a cost: an epsilon that was asked for stands here as it was asked for.
SHOWN = 4

# In the box, a guarantee up to this epsilon is told in a plain word.
STRONG = 1.0


def templates() -> Any:
    """jinja2's environment; what a fit asks for before it is charged, for it writes a page.

    Raises
    ------
    ImportError
        Without jinja2.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise ImportError(
            f"The page of a release needs jinja2. Install it: {how_to_install('report')}"
        ) from None
    return _environment()


@cache
def _environment() -> Any:
    """Templates of HTML escape every value; the words are plain text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("skdppca.report"),
        autoescape=select_autoescape(["html"], default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "as_call": _as_call,
        "told": _told,
        "sentence": sentence,
        "declared_public": _declared_public,
        "down": _of_number(partial(digits.down, digits=SHOWN)),
        "exp": lambda value: math.exp(min(float(value), 700.0)),
        "percent": digits.percent,
        "percent_down": digits.percent_down,
        "percent_up": digits.percent_up,
        "short": _short,
        "short_number": lambda value: "" if value is None else f"{float(value):.4g}",
        "spaced": _of_number(digits.count),
        "step": lambda step: f"{step['name']} ({step['kind']})",
        "together": protected_together,
        "up": _of_number(partial(digits.up, digits=SHOWN)),
    }
    environment.tests |= {"one": is_one}
    return environment


@cache
def words() -> Any:
    """Return the fixed sentences: each is plain text, or a function of what stands in it.

    A function is called without the settings of the template that calls it, so what it gives is
    plain text there, too, and is escaped where it is shown.
    """
    told = vars(templates().get_template("words.txt").module)
    return SimpleNamespace(
        **{name: partial(one) if callable(one) else one for name, one in told.items()}
    )


def claim(document: Document) -> list[str]:
    """What the box says, in as few lines as a shell has room for."""
    told, say = shown(document), words()
    facts = told["guarantee"]
    lines = [say.claimed(say.STATUS[status_of(told)], facts), *_voided(told)]
    if not facts["private"]:
        return [*lines, *map(sentence, facts["not_private"]), say.TREAT_AS_DATA]
    if status_of(told) != "not-as-stated":
        lines += [line for _, line in _if_wrong(reports_of(told))]
    return [*lines, say.answered(**_answered(told))]


def _if_wrong(reports: Sequence[PrivacyReport]) -> list[tuple[str, str]]:
    """For whom the figures hold because somebody declared it, and what they are for others."""
    say, found = words(), []
    for report in reports:
        if len(report.details.get("joined", ())) > 1:
            found.append(("Accounts", say.by_account(report)))
        elif is_merged(report.details):
            found.append(("Merged", say.merged_parts(report)))
        elif "sites" in report.details:
            found.append(("Sites", _at_more_sites(report)))
    return [(label, line) for label, line in found if line]


def _at_more_sites(report: PrivacyReport) -> str:
    """What somebody pays who has records at several sites; nothing where no mu says it."""
    number, most = len(report.details["sites"]), report.details.get("max_sites_per_person", 1)
    if not isinstance(report.cost, GaussianEvent) or not report.private:
        return ""
    several = number if most == 1 else most
    event = GaussianEvent(float_up(several * Fraction(report.cost.mu)), report.cost.failure)
    epsilon = epsilon_of_event(event, report.delta)
    others = number - report.details.get("honest_sites", number)
    return str(words().at_more_sites(number, most, epsilon, report.delta, others))


def status_of(document: Document) -> str:
    """The state of the box, a key of `STATUS`."""
    if not document["guarantee"]["private"]:
        return "not-private"
    if _voided(document):
        return "not-as-stated"
    charged = _charged(document)
    status = next((name for place, (name, _) in STATES.items() if place in charged), "private")
    return "open" if status != "uncharged" and _open(document) else status


def budget(document: Document, account: str = "the ledger", name: str = "") -> list[str]:
    """Say where the fits were charged and what is left there, a sentence each.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    account : str
        What an account is called.
    name : str
        The name of the account here; empty if only its number is known.
    """
    charged, ledger = _charged(document), document["ledger"]
    lines = [line for place, (_, line) in STATES.items() if place in charged]
    where = " and ".join(
        f"row {one['row']} of {account} {name or one['accountant'][:DIGITS]}"
        for fit in document["fits"]
        for one in fit["core"]["receipts"]
    )
    if not where:
        return lines
    if ledger is None:
        return [*lines, words().budget_unknown(where)]
    left, delta = (float(ledger[key]) for key in ("remaining", "delta"))
    of = digits.down(float(ledger["epsilon"]), SHOWN)
    return [*lines, words().budget_left(digits.down(left, SHOWN), of, digits.up(delta), where)]


def page_facts(document: Document) -> dict[str, Any]:
    """Return the document, and what follows from several parts of it, for the templates."""
    document = shown(document)
    status, facts, fits = status_of(document), document["guarantee"], document["fits"]
    cores = [fit["core"] for fit in fits]
    reports = reports_of(document)
    parts = [parts_of(report) for report in reports]
    every = [*cores, *(part.report.core() for ones in parts for part in ones)]
    ledger = document["ledger"] or {}
    charges = ledger.get("charges", [])
    return {
        **document,
        "HAZARDS": HAZARDS,
        "LABELS": LABELS,
        "MOST_LINES": MOST_LINES,
        "beyond": beyond,
        "status": status,
        "voided": _voided(document),
        "why_not": list(map(sentence, facts["not_private"])),
        "budget": budget(document),
        "earlier_charges": _earlier(ledger),
        "charged_on": next((one["time"] for core in cores for one in core["receipts"]), ""),
        "answered": _answered(document),
        "strongly": status != "not-as-stated" and float(facts["epsilon"]) <= STRONG,
        "profile": {f"{at:g}": digits.up(float(value), SHOWN) for at, value in facts["profile"]},
        "records": [
            float(fit["results"]["n_records"])
            for fit in fits
            if fit["results"] is not None and fit["results"]["n_records"] is not None
        ],
        "seeded": any(core["parameters"].get("random_state") is not None for core in every),
        "noiseless": any(math.isinf(float(core["guarantee"]["epsilon"])) for core in cores),
        "seeded_rows": [one["row"] for one in charges if one["seeded"] and not one["this_release"]],
        "heads": [(one["row"], one["head"]) for fit in fits for one in fit["releases"]],
        "reports": reports,
        "if_wrong": _if_wrong(reports),
        "parts": parts,
    }


def _earlier(ledger: Document) -> int:
    """How many charges a ledger lists that were made before those of these releases."""
    charges = ledger.get("charges", [])
    ours = [one["row"] for one in charges if one["this_release"]]
    since = sum(one["row"] >= min(ours) for one in charges) if ours else 0
    return ledger["n_charges"] - since if ours else 0


def _charged(document: Document) -> set[str]:
    """Where the fits were charged: to a ledger, to those of sites or of parts, or nowhere."""
    return {_charged_at(fit["core"]) for fit in document["fits"]}


def _charged_at(core: Document) -> str:
    if core["receipts"]:
        return "ledger"
    if "sites" in core["details"]:
        return "sites"
    if "merged" in core["details"]:
        places = {_charged_at(part["report"]["core"]) for part in core["details"]["parts"]}
        return "nowhere" if "nowhere" in places else "parts"
    return "nowhere"


def _voided(document: Document) -> list[str]:
    """What is declared, or known of a Pipeline, that makes the figures wrong."""
    return [
        words().voided(HAZARDS[name], _told(given))
        for name, right, given in _decisive(document)
        if given and given["answer"] not in (right, "unknown")
    ] + [
        words().fitted_step(step["name"], step["kind"])
        for step in document["steps"]
        if step["place"] == "before" and step["fitted"]
    ]


def _decisive(document: Document) -> list[tuple[str, str, Any]]:
    """Return the questions that the figures rest on, the right answers, and the curator's."""
    entries = document["guarantee"]["unit"] == INTERACTION  # of which a user has many
    return [
        (name, right, document["context"].get(name))
        for name, right in DECISIVE.items()
        if not (entries and name == "several_units")
    ]


def _open(document: Document) -> list[int]:
    """Return the numbers of the questions that decide and are not answered."""
    numbers = list(HAZARDS)
    return [
        numbers.index(name) + 1
        for name, _, given in _decisive(document)
        if not given or given["answer"] == "unknown"
    ]


def _answered(document: Document) -> dict[str, Any]:
    """How many of the questions are answered, and which that decide are not."""
    given = [document["context"].get(name) for name in HAZARDS]
    return {
        "number": sum(bool(one) and one["answer"] != "unknown" for one in given),
        "of": len(HAZARDS),
        "open_ones": _open(document),
        "objection": bool(_voided(document)),
    }


# Filters of the templates.


def sentence(text: str) -> str:
    """Return a remark of a fit's report as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _of_number(write: Any) -> Any:
    """A filter of numbers as JSON has them: infinity is text."""
    return lambda value: write(float(value))


def _told(given: Any) -> str:
    """An answer of the curator, or their text."""
    return str(Answer(**given)) if isinstance(given, Mapping) else given or ""


def _as_call(parameters: Document) -> str:
    shown = {name: value for name, value in parameters.items() if name not in HIDDEN}
    return ", ".join(f"{name}={_short(value)}" for name, value in shown.items())


def _declared_public(parameters: Document) -> list[tuple[str, Any]]:
    return [
        (name, parameters[name])
        for name, usual in DECLARED.items()
        if parameters.get(name, usual) not in (usual, "private")
    ]


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"[{len(value)} values]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def page(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the page as HTML text: one file that loads nothing.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    pictures : sequence of Picture
    """
    return _rendered("page.html", document, pictures)


def snippet(document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return the box, what was found and the pictures as HTML, to stand in another page."""
    return _rendered("snippet.html", document, pictures)


def _rendered(template: str, document: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    environment = templates()
    style = environment.loader.get_source(environment, "style.css")[0].strip()
    text: str = environment.get_template(template).render(
        page_facts(document),
        first=FIRST,
        found=found(document),
        pictures=pictures,
        say=words(),
        style=style,
    )
    return text.strip() + "\n"
