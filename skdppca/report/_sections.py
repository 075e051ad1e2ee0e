"""The twelve sections of a report, made of its document alone, as `shown` returns it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..privacy import PrivacyReport
from ..privacy.units import INTERACTION, ROW
from . import _sentences as say
from ._blocks import Block, Box, Bullets, Code, Fact, Facts, Figure, Section, Table, Text
from ._context import HAZARDS, LABELS, VOIDING, denied
from ._rounding import count, down, percent, percent_down, percent_up, up

__all__ = ["box", "claim", "sections", "status_of"]

Document = Mapping[str, Any]

# What the released arrays are, one line each.
ARRAYS = {
    "components": "the directions, one a line; orthonormal",
    "n_components": "how many there are",
    "n_samples": "the number of records",
    "mean": "the mean of every column",
    "scale": "what every column is divided by",
    "explained_variance": "the variance along every component",
    "explained_variance_ratio": "its share of the total variance",
    "singular_values": "the same, as scikit-learn's PCA has it",
    "noise_variance": "the mean variance of all other directions",
    "counts": "the number of records in every cell of the map",
    "outside": "the number of records outside of the map",
    "noise_sd": "the standard deviation of the noise in every cell",
    "x_edges": "the cells' edges along the first component; chosen without the data",
    "y_edges": "the cells' edges along the second component; chosen without the data",
    "centroids": "the mean of every class",
    "class_counts": "the number of records of every class",
    "best_index": "which candidate of the search won",
    "best_score": "its score, with noise",
}

# Facts that a parameter declares to be public: they are not computed, and cost nothing.
DECLARED = {"mean": None, "norm_bound": None, "scale": None, "tails": "light", "gap": "unknown"}

# Lines of the table of components on the page.
MOST_LINES = 8

# Characters of one value of a parameter.
LONGEST = 60

# In the box, a guarantee up to this epsilon is told in a plain word.
STRONG = 1.0


def box(document: Document) -> Box:
    """Who is protected, how strongly, how much of the budget is gone, and what the checks say."""
    facts, reasons = document["guarantee"], []
    status = status_of(document)
    passed = sum(check["passed"] for check in document["checks"])
    checks = Fact("Checks", f"{passed} of {len(document['checks'])} passed when this was written.")
    if status == "failed":
        reasons = [say.CHECKS_FAILED]
    reasons += _voided(document)
    if not facts["private"]:
        reasons += [*_why_not(facts["not_private"]), say.TREAT_AS_DATA]
        return Box(status, say.STATUS[status], [checks], reasons)
    return Box(
        status,
        say.STATUS[status],
        [
            Fact(
                "Protected",
                say.protected(facts["unit"], facts["adjacency"], _strong(status, facts)),
            ),
            *_several(document),
            _answered(document),
            Fact("How strongly", _strength(facts)),
            *_large_delta(document),
            Fact("In the worst case", _worst_case(facts)),
            Fact("Budget", _budget(document), "missing" if status == "uncharged" else ""),
            *_seeded_charges(document),
            checks,
        ],
        reasons,
    )


def claim(document: Document) -> list[str]:
    """What the box says, in as few lines as a shell has room for."""
    facts, status = document["guarantee"], status_of(document)
    guarantee = (
        f"; every {facts['unit']}, epsilon {up(_number(facts['epsilon']))} at delta "
        f"{up(facts['delta'])}"
        if facts["private"]
        else ""
    )
    lines = [f"This report says: {say.STATUS[status]}{guarantee}.", *_voided(document)]
    if not facts["private"]:
        return [*lines, *_why_not(facts["not_private"]), say.TREAT_AS_DATA]
    return [*lines, _answered(document).text]


def sections(document: Document) -> list[Section]:
    """All twelve sections; the box is the first."""
    makers = {
        "Release": _release,
        "What is released": _released,
        "What the guarantee says": _guarantee,
        "Whom it protects": _whom,
        "Budget": _account,
        "Results and their uncertainty": _results,
        "How it was made": _made,
        "What it rests on": _rests_on,
        "What it does not cover": _not_covered,
        "How to check it": _checks,
        "Words": _words,
    }
    return [
        Section(number, title, list(make(document)))
        for number, (title, make) in enumerate(makers.items(), start=2)
    ]


def status_of(document: Document) -> str:
    """The state of the box, a key of `STATUS`."""
    if not all(check["passed"] for check in document["checks"]):
        return "failed"
    if not document["guarantee"]["private"]:
        return "broken"
    if _voided(document):
        return "void"
    charged = {_charged(fit) for fit in document["fits"]}
    return "uncharged" if "nowhere" in charged else "sites" if "sites" in charged else "private"


def _charged(fit: Document) -> str:
    """Where a fit was charged: to a ledger, to those of the sites, or nowhere."""
    if fit["core"]["receipt"] is not None:
        return "ledger"
    return "sites" if "sites" in fit["core"]["details"] else "nowhere"


def _voided(document: Document) -> list[str]:
    """What is declared, or known of a Pipeline, that makes the figures wrong."""
    answers = {name: document["context"].get(name) for name in VOIDING}
    return [
        say.voided(HAZARDS[name], answer)
        for name, answer in answers.items()
        if answer and not denied(answer)
    ] + [
        say.fitted_step(step["name"], step["kind"])
        for step in document["steps"]
        if step["place"] == "before" and step["fitted"]
    ]


def _several(document: Document) -> list[Fact]:
    """Whether the unit is less than a person."""
    answer, unit = document["context"].get("several_units"), document["guarantee"]["unit"]
    if answer and not denied(answer):
        return [Fact("Units of a person", say.several(answer), "missing")]
    if unit == INTERACTION:
        return [Fact("Users", say.INTERACTIONS, "missing")]
    if not answer and unit == ROW:
        return [Fact("Rows of a person", say.SEVERAL_NOT_STATED, "missing")]
    return []


def _answered(document: Document) -> Fact:
    """How many of the questions are answered: silence must not look better than an answer."""
    context = document["context"]
    numbers = {name: number for number, name in enumerate(HAZARDS, start=1)}
    open_ones = [numbers[name] for name in VOIDING if not context.get(name)]
    count = sum(bool(context.get(name)) for name in HAZARDS)
    text = say.answered(count, len(HAZARDS), open_ones)
    return Fact("Curator's answers", text, "missing" if open_ones else "")


def _seeded_charges(document: Document) -> list[Fact]:
    """Whether other charges of the ledger are of releases that are not private."""
    charges = document["ledger"]["charges"] if document["ledger"] else []
    rows = [one["row"] for one in charges if one["seeded"] and not one["this_release"]]
    return [Fact("Ledger", say.seeded_charges(rows), "missing")] if rows else []


def _large_delta(document: Document) -> list[Fact]:
    """Whether delta is so large that it would allow to publish a record."""
    delta = document["guarantee"]["delta"]
    counts = [_number(fit["results"]["n_records"]) for fit in document["fits"] if _counted(fit)]
    if not counts or delta * max(counts) < 1:
        return []
    return [Fact("Delta", say.large_delta(up(delta)), "missing")]


def _counted(fit: Document) -> bool:
    return fit["results"] is not None and fit["results"]["n_records"] is not None


def _why_not(reasons: list[str]) -> list[str]:
    """The reasons in our words; one that has none is quoted."""
    told = []
    for reason in reasons:
        name = (
            "axes"
            if reason.startswith("axes:")
            else "no noise"
            if "epsilon" in reason
            else "seed"
            if "random_state" in reason or "seed" in reason
            else ""
        )
        told.append(say.NOT_PRIVATE.get(name, reason))
    return list(dict.fromkeys(told))


def _strong(status: str, facts: Document) -> bool:
    return status != "void" and facts["epsilon"] <= STRONG


def _strength(facts: Document) -> str:
    mu = "" if facts["mu"] is None else up(facts["mu"])
    variant = facts["variant"] if not facts["failure"] else "approximate"
    return say.strength(up(_number(facts["epsilon"])), up(facts["delta"]), variant, mu)


def _worst_case(facts: Document) -> str:
    return say.worst_case(facts["adjacency"], percent_up(facts["attack"]["coin"]), facts["unit"])


def _budget(document: Document) -> str:
    charged = {_charged(fit) for fit in document["fits"]}
    if "nowhere" in charged:
        return say.NO_LEDGER
    if "sites" in charged:
        return say.SITES_CHARGED
    account = document["ledger"]
    if account is None:
        return say.TOTALS_UNKNOWN
    shares = account["shares"]
    if shares is not None:
        return say.budget_shares(percent_up(shares["this_release"]), percent_up(shares["all"]))
    return say.budget_epsilons(
        up(_number(account["spent_before"])),
        up(_number(account["spent_after"])),
        up(_number(account["spent"])),
        down(account["epsilon"]),
        up(account["delta"]),
    )


# 2 and 3: what it is.


def _release(document: Document) -> Iterator[Block]:
    fits = document["fits"]
    facts = [Fact("Title", document["title"])]
    for fit in fits:
        name = fit["core"]["method"]
        facts.append(Fact("Release" if len(fits) == 1 else name, fit["release_id"][:16]))
    receipt = next((f["core"]["receipt"] for f in fits if f["core"]["receipt"]), None)
    if receipt is not None:
        facts.append(Fact("Charged on", _time(receipt["time"])))
    version = fits[0]["core"]["software"].get("skdppca", "")
    facts.append(Fact("Software", f"skdppca {version}, schema {document['schema']}"))
    facts.append(Fact("Kind", "Machine learning model"))
    yield Facts(facts)
    yield Text(f"{say.DECLARED}:", "note")
    names = [name for name in LABELS if name not in ("why_this_epsilon", "why_this_unit")]
    yield Facts([_declared(document, name) for name in names if name != "other_releases"])


def _time(text: str) -> str:
    return f"{text[:19].replace('T', ' ')} UTC"


def _said(document: Document, name: str, label: str | None = None) -> Fact:
    """An answer among what the software says, marked as the curator's."""
    fact = _declared(document, name, label)
    return Fact(f"{fact.label} (the curator says)", fact.text, fact.tone)


def _declared(document: Document, name: str, label: str | None = None) -> Fact:
    answer = document["context"].get(name)
    label = label or LABELS.get(name, name)
    if not answer:
        return Fact(label, say.NOT_STATED, "missing")
    return Fact(label, answer, "declared")


def _released(document: Document) -> Iterator[Block]:
    rows = []
    for number, fit in enumerate(document["fits"], start=1):
        core, which = fit["core"], f"{number}: " if len(document["fits"]) > 1 else ""
        noisy = _noisy_count(core)
        for one in core["released"]:
            shape = " x ".join(map(str, one["shape"])) or "number"
            what = _mean(core) if one["name"] == "mean" else ARRAYS.get(one["name"], "")
            what += ", with noise" if noisy and one["name"] == "n_samples" else ""
            rows.append((which + one["name"], shape, what))
    yield Table(("array", "shape", "what it is"), rows, (0, 1, 2))
    yield Text("Not released: the records, and what becomes of them (scores, transformed rows).")


def _mean(core: Document) -> str:
    """What the released mean is: it need not come from the records."""
    parameters = core["parameters"]
    if parameters.get("mean") is not None:
        return "the mean that was declared public"
    return "zeros, because center=False" if parameters.get("center") is False else ARRAYS["mean"]


def _noisy_count(core: Document) -> bool:
    """Whether the number of records was released with noise."""
    facts = core["guarantee"]
    return facts["private"] and facts["adjacency"] == "add-remove" and facts["unit"] != INTERACTION


# 4 and 5: what it promises, and to whom.


def _guarantee(document: Document) -> Iterator[Block]:
    facts = document["guarantee"]
    if not facts["private"]:
        yield Text("There is no guarantee.", "warning")
        for reason in _why_not(facts["not_private"]):
            yield Text(reason)
        return
    if status_of(document) == "void":
        yield Text(say.FIGURES_DO_NOT_HOLD, "warning")
    attack, unit = facts["attack"], facts["unit"]
    epsilon, delta = up(_number(facts["epsilon"])), up(facts["delta"])
    (_, five), (_, one) = attack["detection"]
    yield Text(say.definition(unit, epsilon, delta))
    yield from _figure(document, "privacy")
    points = [
        say.detection(facts["adjacency"], percent_up(five), percent_up(one)),
        say.ANY_ATTACK,
        say.household(
            unit,
            attack["household"],
            percent_up(attack["household_coin"]),
            percent_up(attack["coin"]),
        ),
        say.PEOPLE_IN_GENERAL,
    ]
    profile = {at: up(_number(value)) for at, value in facts["profile"]}
    if facts["variant"] == "gaussian":
        points.append(say.about_delta(profile[1e-3], profile[1e-9]))
    if facts["variant"] == "pure":
        points.append(say.odds(unit, up(math.exp(min(_number(facts["epsilon"]), 700.0)))))
    if facts["failure"]:
        points.append(say.failure(up(facts["failure"])))
    yield Bullets([*points, say.CONSERVATIVE])
    if facts["variant"] != "pure":
        deltas = (1e-5, 1e-6, 1e-9)
        heads = ["at delta", *(f"{at:g}" for at in deltas)]
        yield Table(heads, [["epsilon", *(profile[at] for at in deltas)]])
    yield Facts([_said(document, "why_this_epsilon")])


def _whom(document: Document) -> Iterator[Block]:
    facts, core = document["guarantee"], document["fits"][0]["core"]
    unit, details = facts["unit"], core["details"]
    exchanged = facts["adjacency"] == "replace-one"
    public = ["the number and names of the columns", "every parameter"]
    noiseless = _number(facts["epsilon"]) == math.inf
    if unit == INTERACTION:
        public.append("the number of rows")
    elif exchanged or noiseless:
        public.append("the number of records")
    told = [
        Fact("Unit", say.unit_in_words(unit)),
        Fact(
            "Neighbours",
            "one unit exchanged for another (replace-one)"
            if exchanged
            else "one unit more or less (add-remove)",
        ),
        Fact("Public by design", ", ".join(public)),
    ]
    if "sites" in details:
        told.append(Fact("Sites", _sites(details)))
    several = _said(document, "several_units", HAZARDS["several_units"])
    yield Facts([*told, several, _said(document, "why_this_unit")])


def _sites(details: Document) -> str:
    """Where the records are, and what that means for a person at several sites."""
    names = ", ".join(map(str, details["sites"]))
    text = f"{names}. {say.AT_ITS_SITE}"
    most = details.get("max_sites_per_person", 1)
    if most > 1:
        text += f" {say.at_several_sites(most, up(_number(details['person_epsilon'])))}"
    return text


# 6: what it cost.


def _account(document: Document) -> Iterator[Block]:
    account = document["ledger"]
    private = document["guarantee"]["private"]
    charged = {_charged(fit) for fit in document["fits"]}
    if "nowhere" in charged:
        yield Text(say.NO_LEDGER if private else say.NO_LEDGER_NEEDED, "warning")
    elif "sites" in charged:
        yield Text(say.SITES_CHARGED)
    elif account is None:
        yield Text(say.TOTALS_UNKNOWN, "warning")
    if account is not None:
        yield from _ledger(document, account)
    for number, fit in enumerate(document["fits"], start=1):
        report = PrivacyReport.from_dict(_alone(fit))
        costs = report.costs()
        if len(document["fits"]) > 1:
            yield Text(_called(document, number))
        if costs and private:
            mu = getattr(report.event, "mu", None)
            cost = f"epsilon {up(report.epsilon)}" if mu is None else f"mu = {up(mu)}"
            yield Text(say.questions(sum(times for _, times, _ in costs), cost))
            yield Table(
                ("query", "questions", "share"),
                [(name, str(n), f"{100 * share:.1f} %") for name, n, share in costs],
            )
        charged = fit["core"]["details"].get("charged")
        if charged is not None:
            rows = [
                (
                    site,
                    *(_figure_of(own, name) for name in ("questions", "mu", "epsilon")),
                )
                for site, own in charged.items()
            ]
            yield Table(("charged at site", "questions", "mu", "epsilon"), rows)
    yield Facts([_said(document, "other_releases")])


def _figure_of(charged: Document, name: str) -> str:
    return up(_number(charged[name])) if name in charged else ""


def _ledger(document: Document, account: Document) -> Iterator[Block]:
    accountant = account["accountant"][:8]
    yield Text(
        f"{say.ledger(accountant, account['n_charges'])} "
        + say.totals(
            up(_number(account["spent"])),
            down(account["epsilon"]),
            up(account["delta"]),
            down(account["remaining"]),
            account["shares"] is not None,
        )
    )
    yield from _figure(document, "ledger")
    rows = [
        (
            str(charge["row"]),
            charge["label"]
            + " (this release)" * charge["this_release"]
            + " (seeded: not private)" * charge["seeded"],
            up(_number(charge["epsilon"])),
            "" if charge["total"] is None else up(_number(charge["total"])),
        )
        for charge in account["charges"]
    ]
    yield Table(("row", "label", "epsilon", "total"), rows, (1,))
    left_out = account["n_charges"] - len(rows)
    if left_out:
        yield Text(f"{left_out} earlier charges are in the ledger only.", "note")


def _alone(fit: Document) -> dict[str, Any]:
    """A fit's own report, without what this document adds."""
    return {name: fit[name] for name in ("schema", "core", "release_id", "release")}


# 7: what was found.


def _results(document: Document) -> Iterator[Block]:
    found = [
        (number, fit["results"])
        for number, fit in enumerate(document["fits"], start=1)
        if fit["results"] is not None
    ]
    if not found:
        yield Text(say.NO_RESULTS)
    for number, results in found:
        if len(document["fits"]) > 1:
            yield Text(_called(document, number))
        yield from _components(document, results, "" if number == 1 else str(number))


def _called(document: Document, number: int) -> str:
    """Which of several fits it is."""
    return f"Release {number}: {document['fits'][number - 1]['core']['method']}."


def _components(document: Document, results: Document, suffix: str) -> Iterator[Block]:
    told, n = results["components"], results["n_components"]
    records = results["n_records"]
    if records is not None:
        about = "about " if results["n_records_is_noisy"] else ""
        several = "s" if n > 1 else ""
        yield Text(
            f"{n} component{several} of {results['n_features']} features, from {about}"
            f"{count(_number(records))} records."
        )
    first = next((i for i, one in enumerate(told) if one["alignment"] and one["share"]), None)
    if first is not None:
        one = told[first]
        yield Text(say.component(first + 1, percent(one["share"]), percent_down(one["alignment"])))
    yield from _figure(document, f"scree{suffix}")
    yield Table(
        ("", "variance", "95 % range", "share", "as without noise", "largest entries"),
        [_line(i, one) for i, one in enumerate(told[:MOST_LINES])],
        (5,),
    )
    if n > MOST_LINES:
        yield Text(f"{n - MOST_LINES} more are in components.csv.", "note")
    if results["lost"]:
        yield Text(say.lost(results["lost"], n), "warning")
    yield from _figure(document, f"loadings{suffix}")
    yield from _figure(document, f"components{suffix}")
    bound = results["norm_bound"]
    marked = any(entry["noise"] is not None for one in told for entry in one["largest"])
    clipped = None if bound is None else f"{_number(bound):.3g}"
    yield Text(f"{say.only_noise(clipped, marked)} {say.SIGNS}", "note")


def _line(i: int, one: Document) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return "" if value is None else f"{_number(value):.4g}"

    interval = "" if one["range"] is None else " to ".join(map(number, one["range"]))
    alignment = one["alignment"]
    direction = (
        "" if alignment is None else "noise" if alignment <= 0 else f"{percent_down(alignment)} %"
    )
    return (
        str(i + 1),
        number(one["variance"]),
        interval,
        "" if one["share"] is None else f"{percent(one['share'])} %",
        direction,
        ", ".join(map(_entry, one["largest"])),
    )


def _entry(entry: Document) -> str:
    text = f"{entry['feature']} {entry['entry']:+.2f}"
    return f"({text})" if entry["noise"] else text


# 8 and 9: how it was made, and what that rests on.


def _made(document: Document) -> Iterator[Block]:
    for number, fit in enumerate(document["fits"], start=1):
        core = fit["core"]
        details, parameters = core["details"], core["parameters"]
        several = len(document["fits"]) > 1
        method = f"Method: {core['method']}."
        yield Text(_called(document, number) if several else method)
        remarks = PrivacyReport.from_dict(_alone(fit)).remarks()
        yield from (Text(f"{one[0].upper()}{one[1:]}.") for one in remarks)
        if "best_params" in details:
            yield Text(f"Chosen by a private search: {_short(details['best_params'])}.")
        shown = {name: value for name, value in parameters.items() if name not in HIDDEN}
        yield Code([", ".join(f"{name}={_short(value)}" for name, value in shown.items())])
        declared = {
            name: parameters[name]
            for name, usual in DECLARED.items()
            if parameters.get(name, usual) not in (usual, "private")
        }
        for name, value in declared.items():
            source = document["context"].get("facts_are_public")
            yield Facts(
                [
                    Fact(
                        f"Declared public: {name}={_short(value)}",
                        f"source: {source or say.NOT_STATED}",
                        "declared" if source else "missing",
                    )
                ]
            )
    for place, meaning in say.OTHER_STEPS.items():
        steps = [step for step in document["steps"] if step["place"] == place]
        named = ", ".join(f"{step['name']} ({step['kind']})" for step in steps)
        if steps:
            yield Facts([Fact(meaning, named)])
    yield Facts([_said(document, "fitted_before", "Preprocessing of these data before")])


# Parameters that say nothing about the release.
HIDDEN = ("accountant", "n_jobs", "verbose")


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"[{len(value)} values]"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _rests_on(document: Document) -> Iterator[Block]:
    cores = [fit["core"] for fit in document["fits"]]
    details = cores[0]["details"]
    seeded = any(core["parameters"].get("random_state") is not None for core in cores)
    noiseless = any(_number(core["guarantee"]["epsilon"]) == math.inf for core in cores)
    random = say.NO_NOISE if noiseless else say.SEEDED if seeded else say.RANDOMNESS
    model = "federated" if "sites" in details else "central"
    trusted = (
        say.federated(len(details["sites"]), str(details.get("honest_sites", say.NOT_STATED)))
        if "sites" in details
        else say.CENTRAL
    )
    software = ", ".join(f"{name} {version}" for name, version in cores[0]["software"].items())
    yield Facts(
        [
            Fact("Trust model", f"{model}. {trusted}"),
            Fact("Randomness", random),
            Fact("Floating point", say.FLOATING_POINT),
            Fact("Software", software),
            _said(document, "raw_data_access", "Access to the raw data, and storage"),
        ]
    )


def _not_covered(document: Document) -> Iterator[Block]:
    yield Bullets(say.NOT_COVERED)
    yield Text(f"{say.DECLARED}:", "note")
    yield Facts(
        [
            _declared(document, name, f"{number}. {question}")
            for number, (name, question) in enumerate(HAZARDS.items(), start=1)
        ],
        long=True,
    )


# 11 and 12.


def _checks(document: Document) -> Iterator[Block]:
    yield Code(
        [
            "skdppca verify DIR --ledger FILE",
            "skdppca verify DIR --ledger FILE --head HEX --signer KEY.pub",
        ]
    )
    facts = []
    for fit in document["fits"]:
        facts.append(Fact("Release", fit["release_id"]))
        row = fit["release"]
        if row is not None:
            told = f"charged in row {row['charge']}, released in row {row['row']}"
            facts.append(Fact("In the ledger", told))
            facts.append(Fact(f"Head at row {row['row']}", row["head"]))
    account = document["ledger"]
    if account is not None:
        facts.append(Fact("Ledger", account["accountant"]))
        head = Fact(f"Head at row {account['rows']}", account["head"])
        facts += [head] if head not in facts else []
    yield Facts(facts)
    yield Text(
        "To vouch for these files: ssh-keygen -Y sign -n skdppca -f KEY MANIFEST.json", "note"
    )
    yield Table(
        ("check", "result", "what it found"),
        [
            (check["what"], "passed" if check["passed"] else "FAILED", check["says"])
            for check in document["checks"]
        ],
        (0, 1, 2),
    )
    yield Text(say.NEVER_CHECKED)


def _words(document: Document) -> Iterator[Block]:
    yield Facts([Fact(word, meaning) for word, meaning in say.WORDS.items()])


def _figure(document: Document, name: str) -> Iterator[Block]:
    for picture in document["pictures"]:
        if picture["name"] == name:
            yield Figure(picture["name"], picture["alt"])


def _number(value: Any) -> float:
    """A number as JSON has it: infinity is text."""
    return float(value)
