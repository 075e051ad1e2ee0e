"""Messages have one text each, and masks cancel only where all were asked the same."""

import json
import re

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("cryptography")

from skdppca.federated import Identity, Study
from skdppca.federated.identity import verified
from skdppca.federated.masks import masked, opened
from skdppca.federated.messages import (
    Close,
    Request,
    RunPlan,
    array_digest,
    read_message,
    reply_text,
)
from skdppca.federated.questions import QUESTIONS, written_question
from skdppca.statistics import ClippedSum, Count

from .local_sites import new_key

KEYS = {name: f"{i:02x}" * 32 for i, name in enumerate(["east", "north", "south"], start=1)}
STUDY = Study("study", sites=KEYS, columns=("a", "b"))
PLAN = RunPlan(
    run="ab" * 16,
    study=STUDY,
    epsilon=1.0,
    delta=1e-6,
    estimator="DPGauss",
    statistics=QUESTIONS,
)
REQUEST = Request(
    run="ab" * 16,
    plan="cd" * 32,
    round=1,
    question=written_question([], Count())[0],
    inputs={},
    grid_log2=-20,
    noise_sd=1234.5,
    keys={name: (key, "ef" * 64) for name, key in KEYS.items()},
)
CLOSE = Close(run="ab" * 16, plan="cd" * 32, release=None)


@pytest.mark.parametrize("message", [PLAN, REQUEST, CLOSE], ids=lambda m: type(m).__name__)
def test_a_message_is_read_as_it_was_written(message):
    read = read_message(message.body)
    assert type(read) is type(message) and read == message and read.digest == message.digest


@pytest.mark.parametrize("message", [PLAN, REQUEST, CLOSE], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "change",
    [
        lambda body: body + b" ",
        lambda body: b" " + body,
        lambda body: body[:-1] + b',"more":1}',
        lambda body: body.replace(b'"run":', b'"run":"x","run":', 1),
        lambda body: body.replace(b'"run"', b'"walk"', 1),
        lambda body: body.replace(b'"action"', b'"actor"', 1),
        lambda body: body.replace(b"abab", b"ABAB", 1),
        lambda body: body[:-1],
        lambda body: body.replace(b"sum/1", b"sum/9", 1),
        lambda body: re.sub(b'"action":"[a-z]*"', b'"action":"read"', body),
    ],
)
def test_another_text_is_no_message(message, change):
    assert read_message(change(message.body)) is None


NUMBERS = [b"NaN", b"Infinity", b"null", b"1e400", b"1", b"1.00", b"10e-1", b'1.0,"epsilon":1.0']


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_and_keys_are_read_strictly(number):
    body = PLAN.body.replace(b'"epsilon":1.0', b'"epsilon":' + number)
    assert body != PLAN.body
    assert read_message(body) is None


@pytest.mark.parametrize("names", [b'["Count","ClippedSum"]', b'["Count","Count"]', b"[1]"])
def test_names_stand_in_one_order_and_once(names):
    body = replace(PLAN, statistics={"Count"}).body.replace(b'["Count"]', names)
    assert names in body and read_message(body) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_of_a_question_that_would_not_read_back_is_not_sent(value):
    with pytest.raises(ValueError, match="is not sent to sites"):
        written_question([], ClippedSum(np.zeros(2), value))


def test_a_value_is_of_its_fields_type():
    plan = replace(PLAN, epsilon=1, statistics=["Count"])
    assert type(plan.epsilon) is float and plan.statistics == {"Count"}
    assert replace(STUDY, columns=["a", "b"]) == STUDY


NO_STUDIES = [
    {"name": "../up"},
    {"name": ""},
    {"sites": {}},
    {"sites": {"east": "ab"}},
    {"sites": {"east": "ab" * 32, "west": "ab" * 32}},  # one key is one party
    {"sites": {"../east": "ab" * 32}},
    {"columns": 0},
    {"columns": ()},
    {"columns": ("a", "a")},
    {"columns": True},
    {"unit": ""},
    {"unit": "interaction"},
    {"sparse": 1},
    {"missing": "zero"},
    {"max_rows": 2**30 + 1},
    {"max_rows": 0},
    {"max_sites_per_person": 4},
    {"max_sites_per_person": 0},
]


@pytest.mark.parametrize(
    "message, change",
    [
        (PLAN, {"run": "ab"}),
        (PLAN, {"study": replace(STUDY, sites={"east": KEYS["east"]})}),  # none would be honest
        (PLAN, {"epsilon": float("inf")}),
        (PLAN, {"epsilon": 0.0}),
        (PLAN, {"delta": 0.0}),
        (PLAN, {"delta": 1.0}),
        (REQUEST, {"round": 0}),
        (REQUEST, {"round": True}),
        (REQUEST, {"noise_sd": float("nan")}),
        (REQUEST, {"noise_sd": 0.0}),
        (REQUEST, {"grid_log2": 1000}),
        (REQUEST, {"inputs": {"a": "b"}}),
        (PLAN, {"estimator": "\x1b[2J"}),
        (REQUEST, {"keys": {"east": ("ab" * 32,)}}),
        (REQUEST, {"keys": {"east": ("AB" * 32, "ef" * 64)}}),
        (CLOSE, {"release": "ab"}),
        *((STUDY, change) for change in NO_STUDIES),
    ],
)
def test_a_message_or_a_study_of_invalid_values_is_not_made(message, change):
    with pytest.raises(ValueError, match="is not valid"):
        replace(message, **change).body  # noqa: B018


def test_an_arrays_digest_is_of_its_shape_and_its_bits():
    x = np.arange(6.0).reshape(2, 3)
    same = [x.copy(order="F"), x.astype(">f8"), x[::1]]
    assert {array_digest(one) for one in same} == {array_digest(x)}
    others = [x.T, x.ravel(), x + 1e-310, np.where(x == 0, -0.0, x), x[:1]]
    assert array_digest(x) not in map(array_digest, others)


def test_a_signature_is_of_one_message_by_one_key(tmp_path):
    one, two = Identity.create(tmp_path / "one"), Identity.create(tmp_path / "two")
    signature = one.sign(b"text")
    assert verified(one.public, signature, b"text")
    for arguments in [
        (two.public, signature, b"text"),
        (one.public, signature, b"other"),
        (one.public, signature[:-2], b"text"),
        (one.public, None, b"text"),
        ("00" * 32, signature, b"text"),
        ("", signature, b"text"),
    ]:
        assert not verified(*arguments)


def test_a_reply_is_signed_with_its_vector():
    fields = {"site": "east", "request": "ab"}
    vector = np.arange(3, dtype=np.uint64)
    text = reply_text(fields, vector)
    assert text == reply_text(fields | {"signature": "x"}, vector.copy())
    assert text != reply_text(fields | {"site": "west"}, vector)
    assert text != reply_text(fields, vector + np.uint64(1)) != reply_text(fields, None)


@pytest.mark.parametrize("name", ["vector", "says"])
def test_no_field_of_a_reply_stands_for_something_else_that_is_signed(name):
    fields, vector = {"site": "east"}, np.arange(3, dtype=np.uint64)
    said = json.loads(reply_text(fields, vector))[name]
    assert reply_text(fields | {name: said}, None) != reply_text(fields, vector)
    assert reply_text(fields | {name: "other"}, vector) != reply_text(fields, vector)
    assert json.loads(reply_text(fields | {"says": "key"}, None))["says"] == "reply"


# --- masks


def masked_by(vectors, digests):
    """What sites send who were told these digests."""
    secrets = {name: new_key() for name in KEYS}
    keys = {name: secret.public for name, secret in secrets.items()}
    return [
        masked(vector, secrets[name].pads(name, keys, digest))
        for name, vector, digest in zip(KEYS, vectors, digests, strict=True)
    ]


def test_masks_cancel_in_the_sum_of_all():
    plain = list(np.random.default_rng(0).integers(-(2**60), 2**60, (3, 1000)))
    sent = masked_by(plain, ["ab" * 32] * 3)
    np.testing.assert_array_equal(opened(sent), sum(plain))


@pytest.mark.parametrize("case", ["one site", "two sites", "told otherwise"])
def test_all_else_is_uniform(case):
    # zeros are sent; the bits of what is seen are fair, with error 1e-9 each
    n = 4000
    sent = masked_by([np.zeros(n, np.int64)] * 3, ["ab" * 32] * 2 + ["cd" * 32])
    seen = {
        "one site": sent[0],
        "two sites": opened(sent[:2]).view(np.uint64),
        "told otherwise": opened(sent).view(np.uint64),
    }[case]
    bits = int(np.unpackbits(seen.view(np.uint8)).sum())
    assert abs(bits - 32 * n) < 6.2 * np.sqrt(16 * n)


def test_a_pad_depends_on_who_what_and_with_which_keys():
    one, two = new_key(), new_key()
    keys = {"east": one.public, "north": two.public}
    (mine,) = one.pads("east", keys, "ab" * 32)
    (theirs,) = two.pads("north", keys, "ab" * 32)
    assert mine.key == theirs.key and mine.adds is not theirs.adds
    others = [
        one.pads("east", keys, "cd" * 32),
        one.pads("east", {"east": one.public, "south": two.public}, "ab" * 32),
        one.pads("east", keys | {"north": new_key().public}, "ab" * 32),
        one.pads("east", keys | {"east": two.public}, "ab" * 32),
    ]
    assert mine.key not in {pad.key for (pad,) in others}
