"""What is said: plans, questions and ends of runs, as canonical JSON, read strictly.

One content has one text: keys are sorted, nothing is added, floats read back exactly. So a digest
of the text names the content, and a signature of the text signs it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, ClassVar, Self, get_origin, get_type_hints

import numpy as np

from ..privacy.chain import canonical
from ..privacy.storage import parse_json
from .identity import is_public_key
from .study import Study

PROTOCOL = "skdppca-sum/1"

# Bytes of a message: fifty sites with their keys take 20 kB, a million names of columns most.
MAX_BODY = 2**24

# Lists and objects within each other: what is read in one place must be readable in all others.
MAX_DEPTH = 32

# No run asks more often.
MAX_ROUNDS = 10_000


def parsed(body: bytes) -> Any:
    """Read canonical JSON.

    Raises
    ------
    ValueError
        If it is too long or nested too deeply, holds NaN, infinity or a key twice, or is not
        written canonically.
    """
    if len(body) > MAX_BODY:
        raise ValueError(f"it has more than {MAX_BODY} bytes")
    try:
        content = parse_json(body.decode("ascii"), MAX_BODY)
        # a space, or another spelling of a number, is gone by now
        same = canonical(content).encode() == body
        if _depth(content) > MAX_DEPTH:
            raise RecursionError
    except (RecursionError, OverflowError):
        raise ValueError("it is nested too deeply, or holds a number that is too large") from None
    if not same:
        raise ValueError("it is not written canonically")
    return content


def _depth(value: Any) -> int:
    """How many lists and objects are within each other."""
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inside), default=0) if isinstance(value, dict | list) else 0


def digest_of(body: bytes) -> str:
    """SHA-256 of a message, hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def array_digest(array: np.ndarray) -> str:
    """SHA-256 of an array's shape and its float64 numbers, little-endian; hexadecimal."""
    content = np.ascontiguousarray(array, dtype="<f8")
    return hashlib.sha256(f"{array.shape}\n".encode() + content.tobytes()).hexdigest()


def is_digest(value: Any) -> bool:
    """Whether this can be a SHA-256."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_run(value: Any) -> bool:
    """Whether this can be a run's id: 128 bits, hexadecimal."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None


def _counted(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) is float and low < value < high


def _each(valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda values: (
        isinstance(values, Mapping)
        and all(isinstance(key, str) and valid(value) for key, value in values.items())
    )


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_title(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 100


def _is_sorted_tuple(value: Any) -> bool:
    known = isinstance(value, tuple) and all(isinstance(name, str) for name in value)
    return known and list(value) == sorted(set(value))


def _is_digest_or_none(value: Any) -> bool:
    return value is None or is_digest(value)


def _is_signed_key(value: Any) -> bool:
    """Whether this can be a public key and a signature; whether it is valid is seen later."""
    return isinstance(value, list) and len(value) == 2 and is_public_key(value[0])


@dataclass(frozen=True)
class Message:
    """Base: a bundle of public facts with one canonical text; their types say what they may be."""

    action: ClassVar[str]
    run: Annotated[str, is_run]

    @property
    def body(self) -> bytes:
        """The canonical text."""
        return canonical(self.to_dict()).encode()

    @property
    def digest(self) -> str:
        """What names this message."""
        return digest_of(self.body)

    def to_dict(self) -> dict[str, Any]:
        """The fields, the protocol's version and what kind of message it is."""
        return {"protocol": PROTOCOL, "action": self.action} | asdict(self)

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """Read what `body` wrote.

        Raises
        ------
        VersionError
            If it is written for another version of the protocol.
        ValueError, TypeError
            If it is anything else than such a message.
        """
        content = parsed(body)
        if not isinstance(content, dict):
            raise ValueError("it is no message")
        if content.pop("protocol", None) != PROTOCOL:
            raise VersionError("another version of the protocol")
        if content.pop("action", None) != cls.action:
            raise ValueError("it is another kind of message")
        if set(content) != {field.name for field in fields(cls)}:
            raise ValueError("it has other fields")
        message = cls._built(content)
        if message.body != body:  # what is built is what was signed, to the last bit
            raise ValueError("it is not written as skdppca writes it")
        return message

    @classmethod
    def _built(cls, content: dict[str, Any]) -> Self:
        return cls(**content)

    def __post_init__(self) -> None:
        for name, declared in get_type_hints(type(self), include_extras=True).items():
            if get_origin(declared) is Annotated:
                self._check(name, declared.__metadata__[0](getattr(self, name)))

    def _check(self, name: str, valid: bool) -> None:
        if not valid:
            raise ValueError(f"{name} is not valid")


class VersionError(ValueError):
    """A message of another version of the protocol."""


@dataclass(frozen=True)
class RunPlan(Message):
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
    parameters : dict
        As a report holds them; for whoever approves the plan.
    statistics : tuple of str
        The kinds of questions that may be asked.
    """

    action: ClassVar[str] = "hello"
    study: Study
    honest: int
    epsilon: Annotated[float, _between(0, math.inf)]
    delta: Annotated[float, _between(0, 1)]
    estimator: Annotated[str, _is_title]
    parameters: Annotated[dict[str, Any], _is_object]
    statistics: Annotated[tuple[str, ...], _is_sorted_tuple]

    def __post_init__(self) -> None:
        super().__post_init__()
        m = len(self.study.sites)
        self._check("study", m >= 2)
        self._check("honest", _counted(1, m - 1)(self.honest))

    def to_dict(self) -> dict[str, Any]:
        """The fields, as JSON holds them."""
        return super().to_dict() | {"statistics": list(self.statistics)}

    @classmethod
    def _built(cls, content: dict[str, Any]) -> Self:
        study = Study.from_dict(content.pop("study"))
        names = content.pop("statistics")
        if not isinstance(names, list):
            raise TypeError("statistics is no list")
        return cls(study=study, statistics=tuple(names), **content)


@dataclass(frozen=True)
class Request(Message):
    """One question to all sites of a run. The masks depend on every bit of it.

    Parameters
    ----------
    run : str
    plan : str
        The digest of the plan.
    round : int
        From 1.
    question : dict
        As `skdppca.federated.questions` writes it.
    inputs : dict of str to str
        The digests of the arrays that go beside it.
    grid_log2 : int
        The spacing of the sum, as an exponent of 2.
    noise_sd : float
        Of the noise that each site adds, in units of the grid; of the diagonal, if symmetric.
    keys : dict of str to list
        Of every site of the roster: the run's public key, and the site's signature.
    """

    action: ClassVar[str] = "answer"
    plan: Annotated[str, is_digest]
    round: Annotated[int, _counted(1, MAX_ROUNDS)]
    question: Annotated[dict[str, Any], _is_object]
    inputs: Annotated[dict[str, str], _each(is_digest)]
    grid_log2: Annotated[int, _counted(-900, 900)]
    noise_sd: Annotated[float, _between(0, math.inf)]
    keys: Annotated[dict[str, list[str]], _each(_is_signed_key)]


@dataclass(frozen=True)
class Close(Message):
    """The end of a run.

    Parameters
    ----------
    run : str
    plan : str
        The digest of the plan.
    release : str or None
        The id of what was released; None if the run failed.
    """

    action: ClassVar[str] = "close"
    plan: Annotated[str, is_digest]
    release: Annotated[str | None, _is_digest_or_none]


def key_text(plan: str, site: str, key: str) -> bytes:
    """What a site signs when it hands out its public key for a run."""
    return canonical({"says": "key", "plan": plan, "site": site, "key": key}).encode()


def reply_text(fields: Mapping[str, str], vector: np.ndarray | None) -> bytes:
    """What a site signs when it replies: all fields but the signature, and the vector.

    The fields are apart from the rest, so none of them can stand for the vector.
    """
    said = {name: value for name, value in fields.items() if name != "signature"}
    data = None if vector is None else np.ascontiguousarray(vector, dtype="<u8").tobytes()
    digest = None if data is None else digest_of(data)
    return canonical({"says": "reply", "fields": said, "vector": digest}).encode()


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
    return canonical(
        {"says": "refusal", "site": site, "sent": sent, "nonce": nonce, "code": code}
    ).encode()


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
    return digest_of(canonical({"action": action} | content).encode())
