import json
import math
import pickle

import numpy as np
import pytest

from skdppca.exceptions import UnknownEventError
from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyEvent,
    PureEvent,
    SelectionEvent,
    compose,
    epsilon_of_event,
    event_from_dict,
)

EVENTS = [
    GaussianEvent(0.1),
    GaussianEvent(1 / 3, failure=1e-7),
    PureEvent(0.2),
    ApproximateEvent(0.3, 1e-8),
    NonPrivateEvent(),
    SelectionEvent(0.1, 10.0),
    ComposedEvent((GaussianEvent(0.1), PureEvent(0.2), SelectionEvent(0.1, 10.0))),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_events_survive_json_pickle_and_hash(event):
    assert event_from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False))) == event
    assert {pickle.loads(pickle.dumps(event)): 1} == {event: 1}


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_events_cannot_be_changed(event):
    with pytest.raises(AttributeError):
        event.mu = 0.0


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        "gaussian",
        {},
        {"mu": 1.0, "failure": 0.0},
        {"type": "free"},
        {"type": ["gaussian"], "mu": 1.0, "failure": 0.0},
        {"type": "gaussian"},
        {"type": "gaussian", "mu": 1.0},
        {"type": "gaussian", "mu": 1.0, "failure": 0.0, "discount": 1.0},
        {"type": "gaussian", "mu": True, "failure": 0.0},
        {"type": "gaussian", "mu": "1.0", "failure": 0.0},
        {"type": "gaussian", "mu": None, "failure": 0.0},
        {"type": "gaussian", "mu": -1.0, "failure": 0.0},
        {"type": "gaussian", "mu": math.nan, "failure": 0.0},
        {"type": "gaussian", "mu": math.inf, "failure": 0.0},
        {"type": "gaussian", "mu": 1.0, "failure": 1.5},
        {"type": "pure", "epsilon": -0.1},
        {"type": "pure", "epsilon": math.inf},
        {"type": "approximate", "epsilon": 0.1, "delta": 2.0},
        {"type": "composed", "events": []},
        {"type": "composed", "events": None},
        {"type": "composed", "events": "pure"},
        {"type": "composed", "events": [{"type": "free"}]},
        {"type": "non-private", "epsilon": 0.0},
        *(
            {"type": "selection", "mu": 0.1} | own
            for own in (
                *({}, {"mean_runs": 0.5}, {"mean_runs": 1e7}, {"mean_runs": math.inf}),
                *({"mean_runs": True}, {"mean_runs": 10.0, "failure": 0.0}),
                *({"mean_runs": 10.0, "mu": -0.1}, {"mean_runs": 10.0, "mu": math.inf}),
            )
        ),
    ],
    ids=repr,
)
def test_records_that_are_no_event_are_refused(record):
    with pytest.raises(UnknownEventError):
        event_from_dict(record)


@pytest.mark.parametrize("bad", [True, np.bool_(False), "1", None, 1j])
@pytest.mark.parametrize("make", [GaussianEvent, PureEvent, lambda x: ApproximateEvent(x, 0.0)])
def test_what_is_no_number_is_no_cost(make, bad):
    with pytest.raises(TypeError, match="is not a number"):
        make(bad)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf])
@pytest.mark.parametrize("make", [GaussianEvent, PureEvent, lambda x: ApproximateEvent(x, 0.0)])
def test_negative_and_infinite_costs_are_refused(make, bad):
    with pytest.raises(ValueError, match="out of range"):
        make(bad)


def test_foreign_events_are_refused_even_if_they_inherit():
    class Cheap(GaussianEvent):
        pass

    class Free(PrivacyEvent):
        kind = "gaussian"

    for event in (Cheap(0.1), Free(), object(), None):
        with pytest.raises(UnknownEventError):
            epsilon_of_event(event, 1e-6)
        with pytest.raises(UnknownEventError):
            compose([event])
        with pytest.raises(UnknownEventError):
            ComposedEvent((event,))
