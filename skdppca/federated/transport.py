"""Replies, and the transport for sites that are in the process of the analyst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .identity import verified
from .messages import Message, Refusal, reply_text

if TYPE_CHECKING:
    from .site import Site


@dataclass(frozen=True)
class Reply:
    """A site's answer, or its refusal.

    Parameters
    ----------
    fields : dict of str to str
        With the site's signature of the others and of the vector.
    vector : ndarray of uint64 or None
        The masked vector; only an answer has one.
    """

    fields: dict[str, str]
    vector: np.ndarray | None = None

    @property
    def refused(self) -> Refusal | None:
        """Why the site refused; None if it did not."""
        return Refusal(self.fields["refused"]) if "refused" in self.fields else None  # type: ignore[call-arg]

    def is_from(self, site: str, key: str, request: str) -> bool:
        """Say whether a site has signed this, as an answer to one message.

        Parameters
        ----------
        site : str
        key : str
            The site's public key.
        request : str
            The digest of the message.
        """
        fields, vector = self.fields, self.vector
        names = (fields.get("site"), fields.get("request")) == (site, request)
        known = fields.get("refused", Refusal.INTERNAL) in list(Refusal)
        if not (names and known and (vector is None or vector.dtype == np.uint64)):
            return False
        return verified(key, fields.get("signature"), reply_text(fields, vector))


class LocalSites:
    """Sites in this process, for tests and trials.

    Parameters
    ----------
    sites : iterable of Site

    Examples
    --------
    >>> from skdppca.federated import LocalSites
    >>> LocalSites([]).sites
    {}
    """

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = {site.name: site for site in sites}

    def exchange(
        self,
        message: Message,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        accepts: Callable[[str, Reply], bool],
    ) -> dict[str, Reply]:
        """Send the same message to some sites, one after the other.

        Parameters
        ----------
        message : Message
            Its `body` is delivered as it is: it is signed.
        signature : str
            The analyst's.
        arrays : mapping of str to ndarray of float64
            Beside the body, which holds their digests.
        sites : sequence of str
            To whom.
        accepts : callable
            ``accepts(site, reply)`` says whether that site has signed this reply. What it has not
            signed is best ignored here, so that the site itself can still answer; whoever asks
            checks it again.

        Returns
        -------
        dict
            By the site's name. A site that did not answer in time is absent. To send the same
            message again costs nothing: a site sends the same bytes.
        """
        there = [name for name in sites if name in self.sites]
        return {name: self.sites[name].respond(message.body, signature, arrays) for name in there}
