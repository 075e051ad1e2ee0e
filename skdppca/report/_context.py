"""Context of a release: facts that people declare, and that no computation can find out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, structs, to_builtins

from .._text import comes_back

# Characters of one answer: a page has room for a paragraph, and not for a book.
LONGEST = 2000

# Characters of a title, which has room for three lines.
LONGEST_TITLE = 300

# Questions on facts that make the figures of a report untrue although all of its checks pass.
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
    "raw_data_access": "Are the raw data kept from all who need not read them? Who can?",
    "timing": "Could anyone outside time the computation?",
    "rows_shown": "Will transformed rows or scores be shown?",
    "all_charged": (
        "Were all fits and releases of these data, also failed and discarded ones, charged to the "
        "ledger?"
    ),
    "collection_needed": "Need the data be collected at all?",
}

# The answers that the figures rest on: each other one contradicts them.
DECISIVE = {
    **dict.fromkeys(("fitted_before", "several_units", "chosen_by_looking", "rows_shown"), "no"),
    **dict.fromkeys(("facts_are_public", "all_charged"), "yes"),
}


Word = Literal["yes", "no", "unknown"]


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a question, and the text beside it."""

    answer: Word
    text: str = ""

    def __str__(self) -> str:
        return f"{self.answer.capitalize()}. {self.text}".rstrip()


Given = Answer | Word | tuple[Word, str] | None


class Context(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Declarations of the curator on a release, which are not checked.

    A report prints it under "Declared by the curator, not checked". It prints what was not stated
    as "Not stated", because a missing answer is information for whoever decides. Do not write what
    the data told you: the text is published as it is.

    A question is answered by "yes", "no" or "unknown", or by a pair of that and a text. The figures
    rest on six of the answers: the box of the report is red if one of them contradicts the figures,
    whatever the text says, and green only if all of them are as they should be.

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
    approvals : str, optional
        Approvals of an ethics committee, a privacy officer, a data owner.
    fitted_before : {"yes", "no", "unknown"} or (answer, text), optional
        Whether a scaler, an imputer or a selection was fitted on these data before. The figures
        rest on "no".
    several_units : {"yes", "no", "unknown"} or (answer, text), optional
        Whether one person can have more than one protected unit. The figures rest on "no".
    chosen_by_looking : {"yes", "no", "unknown"} or (answer, text), optional
        Whether epsilon, the number of components or bounds were chosen by looking at these data.
        The figures rest on "no".
    other_releases : {"yes", "no", "unknown"} or (answer, text), optional
        Whether there are other releases of the same data.
    facts_are_public : {"yes", "no", "unknown"} or (answer, text), optional
        Whether all that the parameters declare to be public is public, and its source. The figures
        rest on "yes".
    raw_data_access : {"yes", "no", "unknown"} or (answer, text), optional
        Whether the raw data are kept from all who need not read them, and who can.
    timing : {"yes", "no", "unknown"} or (answer, text), optional
        Whether anyone outside could time the computation.
    rows_shown : {"yes", "no", "unknown"} or (answer, text), optional
        Whether transformed rows or scores will be shown. The figures rest on "no".
    all_charged : {"yes", "no", "unknown"} or (answer, text), optional
        Whether all fits and releases of these data went through the ledger. The figures rest on
        "yes".
    collection_needed : {"yes", "no", "unknown"} or (answer, text), optional
        Whether the data need to be collected at all.

    Examples
    --------
    >>> from skdppca.report import Context
    >>> context = Context(
    ...     curator="Clinic of Anytown",
    ...     fitted_before="no",
    ...     chosen_by_looking=("no", "k=3 stood in the protocol."),
    ... )
    >>> print(context.chosen_by_looking)
    No. k=3 stood in the protocol.
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
    approvals: str | None = None
    fitted_before: Given = None
    several_units: Given = None
    chosen_by_looking: Given = None
    other_releases: Given = None
    facts_are_public: Given = None
    raw_data_access: Given = None
    timing: Given = None
    rows_shown: Given = None
    all_charged: Given = None
    collection_needed: Given = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in HAZARDS:
                structs.force_setattr(self, name, _answer(name, value))
            elif value is not None:
                _check_text(name, value, LONGEST)

    def to_dict(self) -> dict[str, Any]:
        """Return all answers as JSON-able values; None where there is none."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {
            name: (value.strip() or None) if isinstance(value, str) else to_builtins(value)
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, answers: Mapping[str, Any]) -> Context:
        """Return the context of these answers, and refuse names that there are not.

        Parameters
        ----------
        answers : mapping
            Keywords of this class; what is left out is not stated. A question may be answered by a
            mapping of "answer" and "text", and by a truth value.

        Returns
        -------
        Context

        Raises
        ------
        ValueError, TypeError
        """
        names = ", ".join(cls.__struct_fields__)
        if not isinstance(answers, Mapping):
            raise TypeError(f"a context maps names to text; the names are {names}")
        for name in answers:
            if name not in cls.__struct_fields__:
                raise ValueError(f"{name!r} is no part of a context; give any of {names}")
        return cls(**answers)


# Labels of the answers on the page.
TEXTS = [name for name in Context.__struct_fields__ if name not in HAZARDS]
LABELS = {name: name.replace("_", " ").capitalize() for name in TEXTS} | {
    "subjects": "Whose data they are",
    "collected": "How they were collected",
    "other_releases": "Other releases of these data",
}


def _answer(name: str, given: Any) -> Answer | None:
    """Return the answer to a question; None if there is none and no text."""
    given = to_builtins(given) if isinstance(given, Answer) else given
    if isinstance(given, Mapping) and given.keys() <= {"answer", "text"}:
        given = (given.get("answer"), given.get("text"))
    answer, text = given if isinstance(given, tuple) and len(given) == 2 else (given, "")
    text = "" if text is None else text
    _check_text(name, text, LONGEST)
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    if answer in (None, "") and not text.strip():
        return None
    if answer not in get_args(Word):
        raise ValueError(
            f"{name} is answered by yes, no or unknown; give one of these, and what else there is "
            f"to say as a text beside it: {name}=('no', 'because ...') in Python, "
            f'{name} = {{answer = "no", text = "because ..."}} in a file'
        )
    return Answer(answer, text.strip())


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
