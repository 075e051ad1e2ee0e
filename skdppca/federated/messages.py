"""Messages: plans, questions and ends of runs, as canonical JSON; and refusals, which are codes.

One content has one text: keys are sorted, nothing is added, floats read back exactly. So a digest
of the text names the content, and a signature of the text signs it. The structs are the schema, the
parser and the check; a text that is not what its content is written as is no message, so that no
key stands in it twice. A site that does not answer says one of the codes, and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from .questions import WrittenQuestion
from .study import Checked, PublicKey, Study, canonical, check

PROTOCOL = "skdppca-sum/1"

Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
RunId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
Title = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,99}\Z")]


def digest_of(body: bytes) -> str:
    """SHA-256 of a message, hexadecimal."""
    return hashlib.sha256(body).hexdigest()


def array_digest(array: np.ndarray) -> str:
    """SHA-256 of an array's shape and its float64 numbers, little-endian; hexadecimal."""
    content = np.ascontiguousarray(array, dtype="<f8")
    return digest_of(f"{array.shape}\n".encode() + content.tobytes())


class Message(Checked, frozen=True, kw_only=True, tag_field="action"):
    """Base: a bundle of public facts with one canonical text, which names the action as well."""

    run: RunId
    protocol: Literal["skdppca-sum/1"] = "skdppca-sum/1"

    @property
    def body(self) -> bytes:
        """The canonical text."""
        return canonical(self)

    @property
    def digest(self) -> str:
        """The name of this message."""
        return digest_of(self.body)


class RunPlan(Message, frozen=True, kw_only=True, tag="hello"):
    """Plan of all that an analyst may ask: the sites agree to it before anything is asked.

    Parameters
    ----------
    run : str
        128 random bits, hexadecimal.
    study : Study
        The public facts that all sites agree on; its sites are the roster.
    epsilon, delta : float
        What the whole run may cost at every site.
    estimator : str
        Its name.
    statistics : frozenset of str
        The kinds of questions that may be asked.
    """

    study: Study
    epsilon: Annotated[float, Meta(gt=0)]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    estimator: Title
    statistics: frozenset[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check("study.sites", len(self.study.sites), self.honest >= 1, "ask two sites at least")

    @property
    def honest(self) -> int:
        """h: the number of sites that add noise that nobody subtracts, and that is priced."""
        return len(self.study.sites) - self.study.max_colluders


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
        Standard deviation of the noise that each site adds, in units of the grid; of the diagonal,
        if symmetric.
    keys : dict of str to (str, str)
        Keys of every site of the roster: the run's public key, and the site's signature.
    """

    plan: Digest
    round: Annotated[int, Meta(ge=1)]
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


def read_message(body: bytes) -> RunPlan | Request | Close | None:
    """Read what `Message.body` wrote; None if it is anything else."""
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        message = msgspec.json.decode(body, type=RunPlan | Request | Close)
        if message.body == body:  # to the last bit
            return message
    return None


def key_text(plan: str, site: str, key: str) -> bytes:
    """Return the text that a site signs when it hands out its public key for a run."""
    return canonical({"says": "key", "plan": plan, "site": site, "key": key})


def reply_text(fields: Mapping[str, str], vector: np.ndarray | None) -> bytes:
    """Return the text that a site signs with a reply: all fields but the signature, and the vector.

    The fields are apart from the rest, so none of them can stand for the vector.
    """
    said = {name: value for name, value in fields.items() if name != "signature"}
    digest = None if vector is None else digest_of(vector.astype("<u8").tobytes())
    return canonical({"says": "reply", "fields": said, "vector": digest})


class Refusal(StrEnum):
    """Why a site refused. Every code follows from the message and from public facts of the site.

    Attributes
    ----------
    meaning : str
        What is wrong, and what to do about it: one sentence for the analyst.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Refusal:
        """Make a code with its meaning."""
        refusal = str.__new__(cls, code)
        refusal._value_, refusal.meaning = code, meaning
        return refusal

    MALFORMED = "malformed", "skdppca sends nothing like this; install the same version everywhere"
    ANALYST = "unknown-analyst", "your public key must stand under analysts in its site.json"
    STUDY = "other-study", "its site.json has another study; agree on one"
    ROSTER = "other-sites", "its site.json has other sites or keys; give all sites the same study"
    FEW_SITES = "too-few-sites", "it takes part with at least min_sites of its site.json; ask more"
    LIMITS = "beyond-limits", "max_epsilon or max_delta of its site.json is lower; ask for less"
    STATISTIC = "statistic-not-allowed", "the plan or its site.json allows no such statistic"
    BUDGET = "ledger-exhausted", "its ledger cannot afford this; lower epsilon, or end the study"
    RUN = "unknown-run", "it knows no such run of this plan and analyst; begin a new run"
    RUN_OVER = "run-over", "the run is over there; begin a new run"
    ROUND = "other-round", "this is not the next question of the run; begin a new run"
    KEYS = "wrong-key", "a key is not signed by its site, or not current; begin a new run"
    INPUTS = "other-inputs", "the arrays are not those that were signed; see who changes messages"
    QUESTION = (
        "invalid-question",
        "its numbers are out of range or do not fit together; choose units in which the norms of "
        "rows lie between 1e-35 and 1e35",
    )
    NOISE = "noise-out-of-range", "the noise or the sum does not fit its grid; lower max_rows"
    MEMORY = "too-little-memory", "it could not hold this for max_rows rows; lower max_rows"
    BEYOND_PLAN = "beyond-plan", "this would cost more than the plan allows; begin a new run"
    TABLE = "table-unusable", "it cannot read its table, or the table changed during the run"
    SUM = (
        "other-sum",
        "its sum is not the one that it charged for (it runs with another number of threads, or on "
        "another machine); begin a new run",
    )
    LEDGER = "ledger-unusable", "its ledger cannot be used, or was put back; ask the site"
    INTERNAL = "internal", "something failed there; its errors.log says what, and stays there"


class Refused(Exception):
    """A site's refusal.

    Parameters
    ----------
    code : Refusal
    """

    def __init__(self, code: Refusal) -> None:
        super().__init__(code.value)
        self.code = code


def need(valid: Any, code: Refusal) -> None:
    """Refuse what is not valid.

    Raises
    ------
    Refused
    """
    if not valid:
        raise Refused(code)
