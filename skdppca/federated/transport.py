"""How messages get from the analyst to the sites and back: whoever can do this can carry a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from .refusals import Refused

__all__ = ["Action", "LocalSites", "Reply", "Respondent", "Transport", "respond"]

Action = Literal["hello", "answer", "close"]


@dataclass(frozen=True)
class Reply:
    """What a site sends.

    Parameters
    ----------
    fields : dict of str to str
    vector : ndarray of uint64 or None
        The masked vector; only an answer has one.
    """

    fields: dict[str, str]
    vector: np.ndarray | None = None


class Respondent(Protocol):
    """What a site must be able to do; `skdppca.federated.Site` is one."""

    @property
    def name(self) -> str:
        """As the roster calls it."""

    def hello(self, body: bytes, signature: str) -> Reply:
        """Agree to a plan."""

    def answer(self, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> Reply:
        """Answer a question."""

    def close(self, body: bytes, signature: str) -> Reply:
        """End a run."""


class Transport(Protocol):
    """Carries one message to some sites. It is trusted with nothing but delivery."""

    def exchange(
        self,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
    ) -> dict[str, Reply | Refused]:
        """Send the same message to some sites, and wait for their answers.

        Parameters
        ----------
        action : {"hello", "answer", "close"}
            Which method of a site is meant.
        body : bytes
            To be delivered as it is: it is signed.
        signature : str
            The analyst's.
        arrays : mapping of str to ndarray of float64
            Beside the body, which holds their digests.
        sites : sequence of str
            To whom.

        Returns
        -------
        dict
            By the site's name. A site that did not answer in time is absent. To send the same
            message again costs nothing: a site sends the same bytes.
        """


class LocalSites:
    """Sites in this process, for tests and trials.

    Parameters
    ----------
    sites : iterable of Site

    Examples
    --------
    >>> from skdppca.federated import LocalSites
    >>> LocalSites([]).exchange("hello", b"{}", "", {}, ["north"])  # there is no such site
    {}
    """

    def __init__(self, sites: Iterable[Respondent]) -> None:
        self.sites = {site.name: site for site in sites}

    def exchange(
        self,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
    ) -> dict[str, Reply | Refused]:
        """Ask one site after the other; see `Transport`."""
        answers: dict[str, Reply | Refused] = {}
        for name in sites:
            if name in self.sites:
                answers[name] = respond(self.sites[name], action, body, signature, arrays)
        return answers


def respond(
    site: Respondent, action: str, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]
) -> Reply | Refused:
    """Let a site act on one message; its refusal is an answer, too."""
    act: dict[str, Callable[[], Reply]] = {
        "hello": lambda: site.hello(body, signature),
        "answer": lambda: site.answer(body, signature, arrays),
        "close": lambda: site.close(body, signature),
    }
    try:
        return act[action]()
    except Refused as refusal:
        return refusal
