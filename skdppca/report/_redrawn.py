"""Whether the pictures of a release are drawn from what its report says, by drawing them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..privacy import PrivacyReport, Statement
from ._drawing import drawn_by
from ._pictures import draw, of_the_ledger
from ._subject import Subject
from ._svg import alike, wrong_svg


class Pictures:
    """The pictures of a release as they lie in its folder.

    Parameters
    ----------
    held : dict of str to bytes
        The release's files by their names, as far as they are there and no larger than they can be.
    document : dict
        The report; empty if it cannot be read.

    Attributes
    ----------
    contents : dict of str to bytes
        By the files' names, as far as they are held.
    missing : bool
        Whether one is not, which another check says.
    odd : list of str
        What pictures hold that none of ours does.
    drawn_again : set of str
        Names of files that were drawn again, to be compared.
    why_not : str
        Why no picture was drawn again.
    """

    def __init__(self, held: Mapping[str, bytes], document: Mapping[str, Any]) -> None:
        self._document = document
        account = document.get("ledger")
        self._n_charges = account["n_charges"] if account else 0
        self._stated = {one["name"]: one["alt"] for one in document.get("pictures", ())}
        names = [f"{name}.svg" for name in self._stated]
        self.contents = {name: held[name] for name in names if name in held}
        self.missing = len(self.contents) < len(names)
        self.odd = list(self._odd())
        self.drawn_again: set[str] = set()
        self.why_not = self._unable() if self._stated else ""

    def _odd(self) -> Iterator[str]:
        for name, content in self.contents.items():
            wrong = wrong_svg(content)
            if wrong is not None:
                yield f"{name} is no picture that skdppca drew: {wrong}"

    def differ(self, subjects: Sequence[Subject]) -> Iterator[str]:
        """Which pictures are not those of these releases, as far as no ledger is needed."""
        yield from self._differ(subjects, None)

    def differ_by(self, reports: Sequence[PrivacyReport], statement: Statement) -> Iterator[str]:
        """Which pictures that show more of a ledger are not those of this account."""
        yield from self._differ([Subject(one, {}, (), None) for one in reports], statement)

    def _differ(self, subjects: Sequence[Subject], statement: Statement | None) -> Iterator[str]:
        if self.why_not or self.missing or self.odd or not self._stated:
            return
        of_ledger = of_the_ledger(self._n_charges, len(subjects))

        def wanted(name: str) -> bool:
            return (name in of_ledger) == (statement is not None)

        steps = self._document["steps"]
        as_stated = not any(step["place"] == "before" and step["fitted"] for step in steps)
        shape = self._document["drawing"]["image_shape"]
        shape = None if shape is None else tuple(shape)
        try:
            drawn = draw(subjects, statement, shape, as_stated, wanted)
        except Exception as error:  # of a matplotlib that is broken, or of numbers that none is for
            self.why_not = f"matplotlib failed with {type(error).__name__}."
            return
        again = {one.name: one for one in drawn}
        stated = set(filter(wanted, self._stated))
        yield from (f"{name} is missing among the pictures" for name in sorted({*again} - stated))
        yield from (f"{name} is no picture of this report" for name in sorted(stated - {*again}))
        for name in sorted(stated & {*again}):
            self.drawn_again.add(f"{name}.svg")
            if self._stated[name] != again[name].alt:
                yield f"{name} is described in other words than those that follow from the report"
            if not alike(self._text(name), again[name].svg):
                yield f"{name}.svg shows something else than the report says"

    def _text(self, name: str) -> str:
        return self.contents[f"{name}.svg"].decode(errors="replace")

    def _unable(self) -> str:
        """Why they cannot be drawn again here."""
        recorded = self._document.get("drawing")
        if recorded is None:
            return "the report does not say which matplotlib drew them."
        try:
            here = drawn_by()
        except ImportError:
            return "matplotlib is not installed."
        theirs = {name: recorded[name] for name in here}
        if theirs == here:
            return ""
        (of_them, of_us) = (_versions(one) for one in (theirs, here))
        return f"they were drawn by {of_them}, and here is {of_us}."


def _versions(software: Mapping[str, str]) -> str:
    return " with ".join(f"{name} {version:.20}" for name, version in software.items())
