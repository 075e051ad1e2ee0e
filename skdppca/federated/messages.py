"""Messages: plans, questions and ends of runs, as canonical JSON.

One content has one text: keys are sorted, nothing is added, floats read back exactly. So a digest
of the text names the content, and a signature of the text signs it. The structs are the schema, the
parser and the check; a text that is not what its content is written as is no message, so that no
key stands in it twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
import numpy as np
from msgspec import Meta, Struct

from .questions import WrittenQuestion
from .study import PublicKey, Study, check

PROTOCOL = "skdppca-sum/1"

# Bytes of a message: fifty sites with their keys take 20 kB, a million names of columns most.
MAX_BODY = 2**24

# No run asks more often.
MAX_ROUNDS = 10_000

Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
RunId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
Title = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,99}\Z")]


def canonical(content: Any) -> bytes:
    """Equal contents give equal texts: keys are sorted, and floats read back exactly."""
    return msgspec.json.encode(content, order="sorted")


def digest_of(body: bytes) -> str:
    """SHA-256 of a message, hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def array_digest(array: np.ndarray) -> str:
    """SHA-256 of an array's shape and its float64 numbers, little-endian; hexadecimal."""
    content = np.ascontiguousarray(array, dtype="<f8")
    return hashlib.sha256(f"{array.shape}\n".encode() + content.tobytes()).hexdigest()


class Versioned(Struct):
    """The fields of every version of a message.

    Parameters
    ----------
    protocol : str
    """

    protocol: str


class VersionError(ValueError):
    """A message of another version of the protocol."""


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="action"):
    """Base: a bundle of public facts with one canonical text; their types say what they may be."""

    run: RunId
    protocol: Literal["skdppca-sum/1"] = "skdppca-sum/1"

    @property
    def body(self) -> bytes:
        """The canonical text.

        Raises
        ------
        ValueError
            If a value is not of its type, or is not finite: it would not read back.
        """
        body, same = canonical(self), False
        try:
            again = msgspec.json.decode(body, type=type(self))
            same = again == self and canonical(again) == body
        except msgspec.ValidationError as error:
            raise ValueError(f"a message is not valid: {error}") from None
        if not same:
            raise ValueError("a message is not valid: it would not read back as it is")
        return body

    @property
    def digest(self) -> str:
        """What names this message."""
        return digest_of(self.body)

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """Read what `body` wrote.

        Raises
        ------
        VersionError
            If it is written for another version of the protocol.
        ValueError
            If it is anything else than such a message.
        """
        why = f"it has more than {MAX_BODY} bytes"
        if len(body) <= MAX_BODY:
            try:
                if msgspec.json.decode(body, type=Versioned).protocol != PROTOCOL:
                    raise VersionError("another version of the protocol")
                message = msgspec.json.decode(body, type=cls)
                if canonical(message) == body:  # to the last bit
                    return message
                why = "it is not written as skdppca writes it"
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                why = str(error)
        raise ValueError(why)


class RunPlan(Message, frozen=True, kw_only=True, tag="hello"):
    """What an analyst will ask, at most: what the sites agree to before anything is asked.

    Parameters
    ----------
    run : str
        128 random bits, hexadecimal.
    study : Study
        The public facts that all sites agree on; its sites are the roster.
    honest : int
        h: how many sites add noise that nobody subtracts. The noise of h sites counts.
    epsilon, delta : float
        What the whole run may cost at every site.
    estimator : str
        Its name.
    statistics : tuple of str
        The kinds of questions that may be asked.
    """

    study: Study
    honest: int
    epsilon: Annotated[float, Meta(gt=0)]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    estimator: Title
    statistics: tuple[str, ...]

    def __post_init__(self) -> None:
        m, names = len(self.study.sites), self.statistics
        check("honest", self.honest, 1 <= self.honest < m, "leave out one site at least")
        rises = list(names) == sorted(set(names))
        check("statistics", names, rises, "sort the names, and give each of them once")


class Request(Message, frozen=True, kw_only=True, tag="answer"):
    """One question to all sites of a run. The masks depend on every bit of it.

    Parameters
    ----------
    run : str
    plan : str
        The digest of the plan.
    round : int
        From 1.
    question : WrittenQuestion
    inputs : dict of str to str
        The digests of the arrays that go beside it.
    grid_log2 : int
        The spacing of the sum, as an exponent of 2.
    noise_sd : float
        Of the noise that each site adds, in units of the grid; of the diagonal, if symmetric.
    keys : dict of str to (str, str)
        Of every site of the roster: the run's public key, and the site's signature.
    """

    plan: Digest
    round: Annotated[int, Meta(ge=1, le=MAX_ROUNDS)]
    question: WrittenQuestion
    inputs: dict[str, Digest]
    grid_log2: Annotated[int, Meta(ge=-900, le=900)]
    noise_sd: Annotated[float, Meta(gt=0)]
    keys: dict[str, tuple[PublicKey, str]]


class Close(Message, frozen=True, kw_only=True, tag="close"):
    """The end of a run.

    Parameters
    ----------
    run : str
    plan : str
        The digest of the plan.
    release : str or None
        The id of what was released; None if the run failed.
    """

    plan: Digest
    release: Digest | None


def declared_shapes(body: bytes) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that go beside a message, by name; none if it declares none."""
    try:
        return Request.from_body(body).question.shapes()
    except ValueError:
        return {}


def key_text(plan: str, site: str, key: str) -> bytes:
    """What a site signs when it hands out its public key for a run."""
    return canonical({"says": "key", "plan": plan, "site": site, "key": key})


def reply_text(fields: Mapping[str, str], vector: np.ndarray | None) -> bytes:
    """What a site signs when it replies: all fields but the signature, and the vector.

    The fields are apart from the rest, so none of them can stand for the vector.
    """
    said = {name: value for name, value in fields.items() if name != "signature"}
    data = None if vector is None else np.ascontiguousarray(vector, dtype="<u8").tobytes()
    digest = None if data is None else digest_of(data)
    return canonical({"says": "reply", "fields": said, "vector": digest})


def refusal_text(site: str, sent: str, nonce: str, code: str) -> bytes:
    """What a site signs when it refuses.

    Parameters
    ----------
    site : str
    sent : str
        The `sent_digest` of what it refuses.
    nonce : str
        Of the sender, for this time: whether a site refuses may change, so what it said to the same
        message before is no answer.
    code : str
    """
    return canonical({"says": "refusal", "site": site, "sent": sent, "nonce": nonce, "code": code})


def sent_digest(action: str, body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> str:
    """What names all that a site was sent.

    A refusal is of all of it, and not of the body alone: whoever passes a message on could change
    the rest, and have the true body refused.
    """
    beside = {
        name: array_digest(array) if getattr(array, "dtype", None) == np.float64 else ""
        for name, array in arrays.items()
    }
    content = {"body": digest_of(body), "signature": signature, "arrays": beside}
    return digest_of(canonical({"action": action} | content))
