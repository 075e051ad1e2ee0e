"""Sections of a report, made of its document alone: facts for the templates that hold its words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from .._text import INTERACTION, digits, is_one, protected_together, shown
from ..privacy import GaussianEvent, PrivacyReport, epsilon_of_event
from ..privacy.declared import public_part
from ..privacy.fit_report import MERGED, NO_LEDGER, SITES_LEDGERS, is_grown
from ..privacy.gdp import float_up
from ..privacy.grown import joined_fits, receipts_of
from ..privacy.parts import is_merged, parts_of
from ._context import DECISIVE, HAZARDS, LABELS, Answer
from ._document import report_of, strength

Document = Mapping[str, Any]

# Facts that a parameter declares to be public: they are not computed, and cost nothing.
DECLARED = {"mean": None, "norm_bound": None, "scale": None, "tails": "light", "gap": "unknown"}

# The state of the box by where a fit was charged, and the line of its budget.
STATES = {
    "ledger": ("private", ""),
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


@cache
def templates() -> Any:
    """Return jinja2's environment: templates of HTML escape every value; the words are text."""
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
        **{name: getattr(digits, name) for name in ("percent", "percent_down", "percent_up")},
        "of_hundred": lambda share: math.ceil(100 * share),
        "short": _short,
        "short_number": lambda value: "" if value is None else f"{float(value):.4g}",
        "spaced": _of_number(digits.count),
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
    """Return the box in as few lines as a shell has room for."""
    stated, say, status = shown(document), words(), status_of(document)
    report = report_of(stated)
    lines = [say.claimed(say.STATUS[status], report), *_objections(stated)[0]]
    if not report.private:
        return [*lines, *map(sentence, report.not_private), say.TREAT_AS_DATA]
    if status != "not-as-stated":
        lines += _if_wrong(report).values()
    return [*lines, _answered(stated)]


def _if_wrong(report: PrivacyReport) -> dict[str, str]:
    """For whom the figures hold because somebody declared it, and what they are for others."""
    label = line = ""
    if len(report.details.get("joined", ())) > 1:
        label, line = "Accounts", words().by_account(report)
    elif is_merged(report.details):
        label, line = "Merged", words().merged_parts(report)
    elif report.details.get("sites"):
        label, line = "Sites", _at_more_sites(report)
    return {label: line} if line else {}


def _at_more_sites(report: PrivacyReport) -> str:
    """Say what somebody pays who has records at several sites; nothing where no mu says it."""
    number, most = len(report.details["sites"]), report.details.get("max_sites_per_person", 1)
    if not isinstance(report.cost, GaussianEvent) or not report.private:
        return ""
    several = number if most == 1 else most
    event = GaussianEvent(float_up(several * Fraction(report.cost.mu)), report.cost.failure)
    epsilon = epsilon_of_event(event, report.delta)
    others = number - report.details.get("honest_sites", number)
    return str(words().at_more_sites(number, most, epsilon, report.delta, others))


def status_of(document: Document) -> str:
    """Return the state of the box, a key of `STATUS`."""
    report = report_of(document)
    if not report.private:
        return "not-private"
    wrong, unanswered = _objections(document)
    if wrong:
        return "not-as-stated"
    status, _ = STATES[_charged_at(report)]
    return "open" if status != "uncharged" and unanswered else status


def _charged_at(report: PrivacyReport) -> str:
    """Return where a fit was charged: to a ledger, to those of sites or of parts, or nowhere."""
    earlier = joined_fits(report.details)[:-1] if is_grown(report.details) else ()
    if not all(map(receipts_of, earlier)):
        return "nowhere"
    if report.receipts:
        return "ledger"
    if report.details.get("sites"):
        return "sites"
    places = {_charged_at(part.report) for part in parts_of(report)}
    return "parts" if places and "nowhere" not in places else "nowhere"


def budget(document: Document, account: str = "the ledger", name: str = "") -> str:
    """Say where the fit was charged and what is left there, in a sentence.

    Parameters
    ----------
    document : dict
        What a report holds, as JSON-able values.
    account : str
        What an account is called.
    name : str
        The name of the account here; empty if only its number is known.
    """
    report, ledger = report_of(document), document["ledger"]
    where = " and ".join(
        f"row {one.row} of {account} {name or one.accountant[:DIGITS]}" for one in report.receipts
    )
    if not where:
        return STATES[_charged_at(report)][1]
    if ledger is None:
        return str(words().budget_unknown(where))
    left, delta = (float(ledger[key]) for key in ("remaining", "delta"))
    of = digits.down(float(ledger["epsilon"]), SHOWN)
    return str(words().budget_left(digits.down(left, SHOWN), of, digits.up(delta), where))


def page_facts(document: Document) -> dict[str, Any]:
    """Return the document, and what follows from several parts of it, for the templates."""
    document = shown(document)
    status, report = status_of(document), report_of(document)
    wrong, unanswered = _objections(document)
    ledger = document["ledger"] or {"charges": [], "n_charges": 0}
    parts, charges = parts_of(report), ledger["charges"]
    since = min((one["row"] for one in charges if one["this_release"]), default=0)
    fits = [part.report for part in parts] or [report]
    return {
        **document,
        "HAZARDS": HAZARDS,
        "LABELS": LABELS,
        "status": status,
        "voided": wrong,
        "budget": budget(document),
        "earlier_charges": since
        and ledger["n_charges"] - sum(one["row"] >= since for one in charges),
        "answered": _answered(document),
        "any_open": bool(unanswered),
        "strongly": status != "not-as-stated" and report.epsilon <= STRONG,
        "strength": strength(report) if report.private else None,
        "seeded": any(one.parameters.get("random_state") is not None for one in fits),
        "noiseless": all(math.isinf(one.epsilon) for one in fits),
        "seeded_rows": [one["row"] for one in charges if one["seeded"] and not one["this_release"]],
        "core": document["fit"]["core"],
        "report": report,
        "if_wrong": _if_wrong(report),
        "parts": parts,
    }


def _objections(document: Document) -> tuple[list[str], list[int]]:
    """Return what makes the figures wrong, and the numbers of the questions that are open.

    The first is declared, or known of a Pipeline. The figures rest on the answers to the others.
    """
    wrong, unanswered = [], []
    unit = document["fit"]["core"]["guarantee"]["unit"]
    for number, (name, question) in enumerate(HAZARDS.items(), start=1):
        right, given = DECISIVE.get(name), document["context"].get(name)
        if name == "several_units" and unit == INTERACTION:  # of which a user has many
            right = None
        if right and (not given or given["answer"] == "unknown"):
            unanswered.append(number)
        elif right and given["answer"] != right:
            wrong.append(words().voided(question, _told(given)))
    wrong += [
        words().fitted_step(step["name"], step["kind"])
        for step in document["steps"]
        if step["place"] == "before" and step["fitted"]
    ]
    return wrong, unanswered


def _answered(document: Document) -> str:
    """Say how many of the questions are answered, and which that decide are not."""
    given = [document["context"].get(name) for name in HAZARDS]
    number = sum(bool(one) and one["answer"] != "unknown" for one in given)
    wrong, unanswered = _objections(document)
    return str(words().answered(number, len(HAZARDS), unanswered, bool(wrong)))


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
    given = {name: parameters.get(name, usual) for name, usual in DECLARED.items()}
    given["scale"] = public_part(given["scale"])
    return [(name, given[name]) for name, usual in DECLARED.items() if given[name] != usual]


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"[{len(value)} values]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
