"""What people declare about a release, which no computation can find out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from .._text import comes_back

# Characters of one answer: a page has room for a paragraph, and not for a book.
LONGEST = 2000

# Characters of a title, which has room for three lines.
LONGEST_TITLE = 300

# How an answer is called on the page.
LABELS = {
    "purpose": "Purpose",
    "curator": "Curator",
    "contact": "Contact",
    "region": "Region",
    "subjects": "Whose data they are",
    "collected": "How they were collected",
    "declared_by": "Declared by",
    "why_this_epsilon": "Why this epsilon",
    "why_this_unit": "Why this unit",
    "intended_users": "Intended users",
    "other_releases": "Other releases of these data",
    "approvals": "Approvals",
}

# What can make the figures of a report untrue although all of its checks pass.
HAZARDS = {
    "fitted_before": (
        "Was anything fitted on these data before (a scaler, an imputer, a selection of columns "
        "or rows)?"
    ),
    "several_units": "Can one person have more than one protected unit?",
    "chosen_by_looking": (
        "Were epsilon, the number of components or bounds chosen by looking at these data?"
    ),
    "other_releases": "Are there other releases of these data, private or not?",
    "facts_are_public": "Is every fact that was declared public really public? What is its source?",
    "raw_data_access": "Who can read the raw data, and how are they stored?",
    "timing": "Could anyone outside time the computation?",
    "rows_shown": "Will transformed rows be shown?",
    "all_charged": "Did all fits, also failed and discarded ones, go through the ledger?",
    "collection_needed": "Need the data be collected at all?",
}

# Hazards that make the figures wrong, unless the answer is no.
VOIDING = ("fitted_before", "chosen_by_looking")

# A plain no. What follows a no may take it back, in words that no list has: "No, although we
# scaled by the sample's standard deviation".
NO = re.compile(r"(no|none|nothing|never)[.!]?", re.IGNORECASE)


def denied(answer: str) -> bool:
    """Whether an answer is a plain no, and not one word more."""
    return NO.fullmatch(answer.strip()) is not None


class Context(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the curator declares about a release: free text, which nobody checks.

    A report prints it under "Declared by the curator, not checked". It prints what was not stated
    as "Not stated", because a missing answer is information for whoever decides. Do not write what
    the data told you: the text is published as it is.

    Parameters
    ----------
    purpose : str, optional
        What the release is for.
    curator, contact : str, optional
        Who holds the data, and who answers questions.
    region : str, optional
        Where the people live whose data they are.
    subjects, collected : str, optional
        Whose data they are, and how and when they were collected.
    declared_by : str, optional
        Who wrote this, and in which role.
    why_this_epsilon, why_this_unit : str, optional
    intended_users : str, optional
        Who may use the release, and for what not.
    other_releases : str, optional
        Other releases of the same data that the ledger does not know.
    approvals : str, optional
        Of an ethics committee, a privacy officer, a data owner.
    fitted_before : str, optional
        Whether a scaler, an imputer or a selection was fitted on these data before. If nothing
        was, write "no", and not one word more: every other answer stands in the box, which then
        says that the figures do not hold as stated.
    several_units : str, optional
        Whether one person can have more than one protected unit. Every answer but "no" alone
        stands in the box.
    chosen_by_looking : str, optional
        Whether epsilon, the number of components or bounds were chosen by looking at these data.
        If they were not, write "no" alone, as above.
    facts_are_public : str, optional
        The source of what the parameters declare to be public.
    raw_data_access : str, optional
        Who can read the raw data, and how they are stored.
    timing : str, optional
        Whether anyone outside could time the computation.
    rows_shown : str, optional
        Whether transformed rows will be shown.
    all_charged : str, optional
        Whether all fits went through the ledger.
    collection_needed : str, optional
        Whether the data need to be collected at all.

    Examples
    --------
    >>> from skdppca.report import Context
    >>> context = Context(curator="Clinic of Anytown", purpose="Describe the lab values")
    >>> context.purpose
    'Describe the lab values'
    >>> print(context.region)
    None
    """

    purpose: str | None = None
    curator: str | None = None
    contact: str | None = None
    region: str | None = None
    subjects: str | None = None
    collected: str | None = None
    declared_by: str | None = None
    why_this_epsilon: str | None = None
    why_this_unit: str | None = None
    intended_users: str | None = None
    other_releases: str | None = None
    approvals: str | None = None
    fitted_before: str | None = None
    several_units: str | None = None
    chosen_by_looking: str | None = None
    facts_are_public: str | None = None
    raw_data_access: str | None = None
    timing: str | None = None
    rows_shown: str | None = None
    all_charged: str | None = None
    collection_needed: str | None = None

    def __post_init__(self) -> None:
        for name, value in structs.asdict(self).items():
            if isinstance(value, bool):
                raise TypeError(
                    f"{name} is a bool, and no text; put the answer in quotation marks, as in "
                    f'{name}: "no"'
                )
            if value is not None:
                _check_text(name, value, LONGEST)

    def to_dict(self) -> dict[str, str | None]:
        """Return all answers as JSON-able values; None where there is none."""
        return {
            name: (value and value.strip()) or None for name, value in structs.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, answers: Mapping[str, Any]) -> Context:
        """Return the context of these answers, and refuse names that there are not.

        Parameters
        ----------
        answers : mapping of str to str
            As keywords of this class; what is left out is not stated.

        Returns
        -------
        Context

        Raises
        ------
        ValueError, TypeError
        """
        names = cls.__struct_fields__
        if not isinstance(answers, Mapping):
            raise TypeError(f"a context maps names to text; the names are {', '.join(names)}")
        unknown = [name for name in answers if name not in names]
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is no part of a context; give any of {', '.join(names)}"
            )
        return cls(**answers)


def _check_text(name: str, value: object, longest: int) -> None:
    if not isinstance(value, str):
        raise TypeError(
            f"{name} is of type {type(value).__name__}, and no text; write a sentence, or leave it "
            "out"
        )
    if not comes_back(value):
        raise ValueError(f"{name} holds a NUL or half of a letter, which no file gives back")
    if len(value) > longest:
        raise ValueError(f"{name} has {len(value)} characters; write at most {longest}")


def check_words(title: object, context: object) -> None:
    """Refuse what is no title and no context; None is either.

    Raises
    ------
    TypeError, ValueError
    """
    if title is not None:
        _check_text("title", title.strip() if isinstance(title, str) else title, LONGEST_TITLE)
        if not str(title).strip():
            raise ValueError("title has no letters; write one line")
    if context is not None and not isinstance(context, Context):
        raise TypeError(
            f"context={context!r} is no Context; give one, such as Context(purpose='...')"
        )
