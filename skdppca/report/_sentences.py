"""The fixed sentences of a report: whatever a release is, it is told in these words.

Numbers come in as text, rounded to the careful side. No sentence grades: none calls a release
anonymous or safe.
"""

from __future__ import annotations

from ..privacy.units import INTERACTION, ROW, is_one, protected_together

__all__ = ["WORDS"]

NOT_STATED = "Not stated"
DECLARED = "Declared by the curator, not checked"

# The box: who is protected, how strongly, what is left.

NO_LEDGER = (
    "No ledger was charged. These figures hold for this release alone. Nothing adds it up with "
    "others of the same data."
)
SITES_CHARGED = (
    "Each site charged its own ledger, as section 6 says. That ledger names this release, and adds "
    "it up with others of the same data. No total stands on this page."
)
NO_LEDGER_NEEDED = "No ledger was charged, and what is not private has no cost."
TOTALS_UNKNOWN = (
    "A ledger was charged, but its totals were not at hand when this was written. Ask for them: "
    "what all releases of the same data cost together is in that ledger alone."
)
TREAT_AS_DATA = "Treat these files as you treat the data."
CHECKS_FAILED = (
    "Parts of this report contradict each other, so nothing on this page can be relied on. "
    "Section 11 says which."
)
STATUS = {
    "private": "Private, and charged to a ledger",
    "sites": "Private, and charged to each site's own ledger",
    "uncharged": "Not charged to a ledger",
    "void": "NOT AS STATED: do not rely on these figures",
    "broken": "NOT PRIVATE",
    "failed": "CHECKS FAILED",
}
NOT_PRIVATE = {
    "seed": "The noise came from a seed: who knows or guesses it can subtract the noise.",
    "no noise": "No noise was added (epsilon = inf).",
    "axes": "The axes of this map came from a release that is not private.",
}


def voided(question: str, answer: str) -> str:
    """What the curator declares against the figures."""
    return (
        f'Asked "{question}", the curator declares: "{answer}". The figures of this report hold '
        'only if the answer is a clear "no". Do not publish on their strength.'
    )


def fitted_step(name: str, kind: str) -> str:
    """What a step of a Pipeline does to the figures."""
    return (
        f"Step '{name}' of the Pipeline, a {kind}, was fitted on these data before the private "
        "step. That makes the figures of this report wrong. Do not publish on their strength."
    )


def large_delta(delta: str) -> str:
    """Why a delta is too large for the number of records."""
    return (
        f"{delta} is not below 1 / (number of records). With it, to publish a record chosen at "
        "random could count as private."
    )


# Steps of a Pipeline that released nothing, by their place.
OTHER_STEPS = {
    "before": "Steps of the Pipeline before it",
    "behind": "Steps behind it: no part of this release, and not private",
}

SEVERAL_NOT_STATED = (
    "The curator does not say whether a person can have several. A person with several is "
    "protected less than the figures say."
)


def several(answer: str) -> str:
    """What follows if the unit is less than a person."""
    return (
        f'Asked whether a person can have several, the curator declares: "{answer}". Who has '
        "several is protected less than the figures say."
    )


def answered(number: int, of: int, open_ones: list[int]) -> str:
    """How many questions the curator answered, and which of the open ones decide."""
    text = f"{number} of {of} questions of section 10 are answered."
    if not open_ones:
        return text
    which = " and ".join(map(str, open_ones))
    several = len(open_ones) > 1
    return (
        f"{text} Question{'s' * several} {which} {'are' if several else 'is'} open: the figures "
        f"hold only if {'both answers are' if several else 'the answer is'} no."
    )


def seeded_charges(rows: list[int]) -> str:
    """What a charge without privacy does to a total."""
    which = ", ".join(map(str, rows))
    several = len(rows) > 1
    return (
        f"Row{'s' * several} {which} of the ledger {'are' if several else 'is'} not private: the "
        "noise came from a seed. If that was published, the total is wrong."
    )


INTERACTIONS = (
    "A user with m interactions is protected less: mu is m times as large. Whether a user took "
    "part is not protected."
)


def unit_in_words(unit: str) -> str:
    """What a unit is."""
    if is_one(unit):
        return f"{unit}: every {unit} is protected by itself"
    return f"{unit}: all rows of one {unit} are protected together"


def plural(unit: str, number: int) -> str:
    """A number of protected units."""
    return f"{number} {unit}s" if is_one(unit) else f"{number} units ({unit})"


def protected(unit: str, adjacency: str, strongly: bool) -> str:
    """Who is protected, and from what."""
    verb = "is" if is_one(unit) else "are"
    change = "in the data or not" if adjacency == "add-remove" else "these or any other"
    if is_one(unit) and adjacency == "replace-one":
        change = "this one or any other"
    effect = (
        "hardly changes what is released"
        if strongly
        else "changes what is released within the bounds below"
    )
    return f"Every {unit}: whether {protected_together(unit)} {verb} {change} {effect}."


def strength(epsilon: str, delta: str, variant: str, mu: str) -> str:
    """Epsilon and delta, and what they were before they were written so."""
    if variant == "gaussian":
        exactly = f"exactly: mu = {mu} (Gaussian differential privacy)"
        return f"epsilon {epsilon} at delta {delta}; {exactly}."
    if variant == "pure":
        return f"epsilon {epsilon}, delta 0 (pure differential privacy)."
    return f"epsilon {epsilon} at delta {delta} (approximate differential privacy)."


def worst_case(adjacency: str, coin: str, unit: str = ROW) -> str:
    """What the guarantee leaves to someone who knows everybody else's data."""
    if unit == INTERACTION:
        return (
            "Suppose someone knows all interactions but one, and a coin decided whether that one "
            "was used. After seeing this release they can tell the coin's side in at most "
            f"{coin} % of cases. Without it: 50 %."
        )
    what = (
        "whether yours were used"
        if adjacency == "add-remove"
        else "whether your data or someone else's, which they know too, were used"
    )
    return (
        f"Suppose someone knows everybody else's data, and a coin decided {what}. After seeing "
        f"this release they can tell the coin's side in at most {coin} % of cases. Without it: "
        "50 %."
    )


def budget_shares(ours: str, all_of_it: str) -> str:
    """How much of a ledger is used, where every charge is Gaussian: shares of mu^2."""
    return (
        f"This release used {ours} % of the ledger's budget; {all_of_it} % of it is used now. "
        "(Shares of mu^2: costs add up as squares.)"
    )


def budget_epsilons(before: str, after: str, now: str, budget: str, delta: str) -> str:
    """How much of a ledger is used, where its charges add up otherwise."""
    later = "" if now == after else f"; {now} is spent now"
    return (
        f"Before this release the ledger had spent epsilon {before} of {budget} at delta {delta}; "
        f"after it, {after}{later}."
    )


# What the guarantee says.

FIGURES_DO_NOT_HOLD = "As the box says, the figures below do not hold as they stand."


def definition(unit: str, epsilon: str, delta: str) -> str:
    """The guarantee, formally."""
    return (
        f"For any two data sets that differ in {protected_together(unit)}, and any set S of "
        f"possible releases: P(release in S | one) <= e^{epsilon} P(release in S | other) + "
        f"{delta}."
    )


def detection(adjacency: str, at_five: str, at_one: str) -> str:
    """What no test exceeds."""
    if adjacency == "add-remove":
        return (
            "No test that raises a false alarm for 5 % of the absent detects more than "
            f"{at_five} % of the present; with 1 % false alarms, {at_one} %."
        )
    return (
        "No test that takes someone else's data for yours in 5 % of cases recognises yours in more "
        f"than {at_five} %; in 1 %, {at_one} %."
    )


ANY_ATTACK = (
    "This holds for every attack, now or later, with any side knowledge, as long as section 9 "
    "holds and section 10 raises no objection."
)


def household(unit: str, number: int, coin: str, alone: str) -> str:
    """What several units have of it."""
    who = f"A household of {plural(unit, number)} is"
    if unit == INTERACTION:
        who = f"A user with {plural(unit, number)} is"
    return (
        f"{who} protected less: the coin's side can then be "
        f"told in at most {coin} % of cases, instead of {alone} %."
    )


PEOPLE_IN_GENERAL = (
    "It does not stop conclusions about people in general. If the components show that smoking "
    "goes with disease, that is learnt about a smoker too, whether or not they took part."
)


def about_delta(loose: str, tight: str) -> str:
    """What delta is, and is not, for Gaussian noise."""
    return (
        "delta belongs to how the guarantee is written as epsilon. It is not a chance that data "
        f"are handed out: the same release has epsilon {loose} at delta 1e-3 and {tight} at 1e-9."
    )


def failure(probability: str) -> str:
    """What a step that may fail means."""
    return (
        f"With probability at most {probability} a check inside the method fails, and no bound "
        "holds then."
    )


def odds(unit: str, factor: str) -> str:
    """What a pure guarantee says."""
    return (
        "epsilon alone, no delta: seeing the release multiplies anyone's odds that a certain "
        f"{unit} took part by at most {factor}."
    )


CONSERVATIVE = (
    "NIST SP 800-226 calls epsilon up to 1 conservative, and says that above it the strength of "
    "the guarantee is less clear. This page does not grade."
)


# The budget.


def questions(number: int, cost: str) -> str:
    """What the queries of a fit cost together."""
    several = "questions, each with noise" if number > 1 else "question, with noise"
    return (
        f"The fit asked the records {number} {several}. Together they cost {cost}; the column "
        "shows each one's share of mu^2."
    )


def ledger(accountant: str, charges: int) -> str:
    """Which account it is."""
    several = "s" if charges != 1 else ""
    return f"Ledger {accountant}: {charges} charge{several}."


def totals(spent: str, budget: str, delta: str, remaining: str, squares: bool) -> str:
    """What all charges of a ledger cost together."""
    why = " (costs add up as squares of mu, so this is more than the difference)" if squares else ""
    return (
        f"Total epsilon {spent} of {budget} at delta {delta}. One more Gaussian fit may cost "
        f"epsilon {remaining} at most{why}."
    )


# Results.


def component(number: int, share: str, alignment: str) -> str:
    """How to read a line of the table."""
    return (
        f"Component {number} holds {share} % of the variance. Its direction agrees to {alignment} "
        "% with that which the same method finds without noise in the covariance matrix (100 %: "
        "the same)."
    )


def lost(number: int, of: int) -> str:
    """How many components are noise."""
    which = "component cannot" if of == 1 else "components cannot"
    return f"{number} of {of} {which} be told from noise. Do not interpret them."


def only_noise(norm_bound: str | None, brackets: bool) -> str:
    """What ranges, and brackets if there are any, leave out."""
    what = "Ranges and brackets hold" if brackets else "Ranges hold"
    clipping = "" if norm_bound is None else f", nor the shrinking by clipping at norm {norm_bound}"
    return (
        f"{what} the noise that was added for privacy. They do not hold the sampling of "
        f"people{clipping}."
    )


SIGNS = "Components' signs are arbitrary."
NO_RESULTS = "This release has no components. The arrays of section 3 are all of it."

# What it rests on, and what it does not cover.

CENTRAL = (
    "Trusted: who holds the data and ran this; the operating system's random numbers; IEEE "
    "arithmetic; the proofs in skdppca/statistics. Not trusted: everyone who sees the release."
)


def federated(number: int, honest: str) -> str:
    """Who is trusted where the data stay at several sites."""
    return (
        f"Trusted: {number} sites with their own records, of which {honest} do not collude; the "
        "operating systems' random numbers; IEEE arithmetic; the proofs in skdppca/statistics. "
        "Not trusted: who asked for the release and everyone who sees it."
    )


AT_ITS_SITE = "Every unit is protected at the site that holds it."


def at_several_sites(most: int, epsilon: str) -> str:
    """What a person has of it who has records at several sites."""
    return f"Who has records at {most} sites has epsilon {epsilon}, at the same delta."


FLOATING_POINT = (
    "Sums are rounded to a public grid and noise is drawn on that grid, so low bits tell nothing. "
    "The rounding errors are bounded, and part of the sensitivity."
)
RANDOMNESS = "Noise comes from the operating system's random numbers (os.urandom), never stored."
SEEDED = "Noise came from a seed."
NO_NOISE = "No noise was drawn."

NOT_COVERED = (
    "Rows sent through these components are not protected.",
    "A scaler, imputer or selection fitted on the same data before makes the figures on this page "
    "wrong, and a fit cannot notice.",
    "Running time and memory depend on the data.",
    "Errors about invalid data were visible to whoever ran it.",
)

# Checks.

NEVER_CHECKED = (
    "No check can tell whether the noise was drawn as stated, whether what was declared public is "
    "public, what was fitted on the data before, or what was released without a charge."
)

NOT_TO_PUBLISH = (
    "Do not publish these files as long as something differs. If you gave another ledger, head or "
    "key than this release's, or put a file into the folder, mend that and verify again. Otherwise "
    "keep the files, and ask the curator for a fresh copy."
)

WORDS = {
    "adjacency": "How two data sets differ that must look alike: one unit added or removed "
    "(add-remove), or one exchanged for another (replace-one).",
    "alignment": "1 if noise did not turn a component; 0 if the component is noise.",
    "clipping": "Shortening records that are longer than a bound, so that no record moves a sum by "
    "more than the bound.",
    "component": "A direction in which the records vary much: a weighted sum of the columns.",
    "delta": "The additive part of the guarantee; chosen well below 1 / (number of records).",
    "epsilon": "The multiplicative part: no result becomes more than e^epsilon times as likely by "
    "one unit, but for delta.",
    "false alarm": "An attacker's test says that someone is in the data who is not.",
    "head": "A fingerprint of all rows of a ledger up to one. Who keeps it can tell later whether "
    "one of them was changed.",
    "ledger": "A file that adds up what all releases of the same data cost, and refuses what "
    "exceeds its budget.",
    "mu": "The strength of Gaussian noise: how far one unit moves the sums, in standard deviations "
    "of the noise.",
    "noise floor": "The variance below which a component's direction is mostly noise.",
    "release": "All arrays that one charge paid for, named by the hash of its report.",
    "unit": "What is protected as a whole: one row, or all rows of one person.",
}
