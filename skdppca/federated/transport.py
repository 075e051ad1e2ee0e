"""How messages get from the analyst to the sites and back: whoever can do this can carry a fit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from .identity import verified
from .messages import digest_of, refusal_text, reply_text, sent_digest
from .refusals import Refused

if TYPE_CHECKING:
    from .site import Site

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


@dataclass(frozen=True)
class Expected:
    """What can be an answer to one message. All else is ignored: anybody may have sent it.

    Parameters
    ----------
    request : str
        The digest of the message.
    sent : str
        The `sent_digest` of the message and of all that goes beside it.
    keys : mapping of str to str
        The public keys of the sites, by name.
    entries : int, default=0
        Of the vector that is asked for.
    nonce : str
        Goes with the message. A refusal must name it. By default 128 random bits.
    """

    request: str
    sent: str
    keys: Mapping[str, str]
    entries: int = 0
    nonce: str = field(default_factory=lambda: os.urandom(16).hex())

    @classmethod
    def of(
        cls,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        keys: Mapping[str, str],
        entries: int = 0,
    ) -> Expected:
        """What can be an answer to this message."""
        return cls(digest_of(body), sent_digest(action, body, signature, arrays), keys, entries)

    def is_from(self, site: str, reply: Reply | Refused) -> bool:
        """Whether a site has signed this, as an answer to this message."""
        if site not in self.keys:
            return False
        if isinstance(reply, Refused):
            text = refusal_text(site, self.sent, self.nonce, reply.code.value)
            return verified(self.keys[site], reply.signature, text)
        if reply.vector is not None and reply.vector.dtype != np.uint64:
            return False
        fields = reply.fields
        if (fields.get("site"), fields.get("request")) != (site, self.request):
            return False
        return verified(self.keys[site], fields.get("signature"), reply_text(fields, reply.vector))


class Transport(Protocol):
    """Carries one message to some sites. It is trusted with nothing but delivery."""

    def exchange(
        self,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        expected: Expected | None = None,
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
        expected : Expected
            What to wait for. Its nonce goes with the message. What is not signed by the site whose
            name it bears is best ignored here, so that the site itself can still answer; whoever
            asks checks it again.

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

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = {site.name: site for site in sites}

    def exchange(
        self,
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        expected: Expected | None = None,
    ) -> dict[str, Reply | Refused]:
        """Ask one site after the other; see `Transport`."""
        nonce = "" if expected is None else expected.nonce
        return {
            name: respond(self.sites[name], action, body, signature, arrays, nonce)
            for name in sites
            if name in self.sites
        }


def respond(
    site: Site,
    action: str,
    body: bytes,
    signature: str,
    arrays: Mapping[str, np.ndarray],
    nonce: str = "",
) -> Reply | Refused:
    """Let a site act on one message; its signed refusal is an answer, too."""
    act: dict[str, Callable[[], Reply]] = {
        "hello": lambda: site.hello(body, signature),
        "answer": lambda: site.answer(body, signature, arrays),
        "close": lambda: site.close(body, signature),
    }
    try:
        return act[action]()
    except Refused as refusal:
        code = refusal.code
    return site.refusal(code, sent_digest(action, body, signature, arrays), nonce)
