"""Costs as events of dp-accounting, priced by its accountants."""

import math
import re
import sys

import pytest

from skdppca.privacy import (
    ApproximateEvent,
    ComposedEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrivacyAccountant,
    PrivacyReport,
    PureEvent,
    SelectionEvent,
    epsilon_of_event,
)
from skdppca.privacy.export import to_dp_event
from skdppca.privacy.installing import how_to_install

dp_accounting = pytest.importorskip("dp_accounting")

from dp_accounting.pld import PLDAccountant  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

NOTION = {"adjacency": "add-remove", "unit": "row"}
DELTA = 1e-6
GAUSSIAN, PURE = GaussianEvent(0.5), PureEvent(0.25)


def pld_price(event, delta=DELTA):
    return PLDAccountant().compose(event).get_epsilon(delta)


@pytest.mark.parametrize(
    "event",
    [
        GaussianEvent(0.01),
        GAUSSIAN,
        GaussianEvent(3.0),
        ComposedEvent((GAUSSIAN, GAUSSIAN)),
        PURE,
        ComposedEvent((PURE, PURE, PURE)),
        ComposedEvent((GAUSSIAN, PURE, PureEvent(0.1), PURE)),
    ],
)
def test_dp_accounting_gives_our_price_within_its_rounding(event):
    """It rounds every loss up to a multiple of 1e-4."""
    ours = epsilon_of_event(event, DELTA)
    assert ours - 1e-4 < pld_price(to_dp_event(event)) < ours + 1e-3


def test_a_pure_release_never_costs_less_than_declared_without_delta():
    assert pld_price(to_dp_event(PURE), 0.0) == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize(
    "event", [GaussianEvent(0.5, 1e-7), ComposedEvent((GAUSSIAN, ApproximateEvent(0.25, 1e-7)))]
)
def test_a_delta_must_be_kept_back(event):
    with pytest.raises(ValueError, match=r"use to_dp_event\(kept_back=1e-07\)"):
        to_dp_event(event)
    with pytest.raises(ValueError, match="too small"):
        to_dp_event(event, math.nextafter(1e-7, 0))
    ours = epsilon_of_event(event, DELTA)
    assert ours - 1e-4 < pld_price(to_dp_event(event, 1e-7), DELTA - 1e-7) < ours + 1e-3


@pytest.mark.parametrize("bad", [-1e-7, 1.5, math.nan])
def test_what_is_kept_back_is_a_probability(bad):
    with pytest.raises(ValueError, match="kept_back="):
        to_dp_event(GAUSSIAN, bad)


def test_every_selection_of_a_composition_is_exported():
    """dp-accounting's own Renyi orders are coarser than ours: 3 % at most here."""
    one = SelectionEvent(0.05, 10.0)
    events = [to_dp_event(ComposedEvent((one,) * n)) for n in (1, 2, 8)]
    prices = [RdpAccountant().compose(event).get_epsilon(DELTA) for event in events]
    ours = [epsilon_of_event(ComposedEvent((one,) * n), DELTA) for n in (1, 2, 8)]
    assert prices == pytest.approx(ours, rel=0.05)
    assert prices[0] < prices[1] < prices[2]


@pytest.mark.parametrize("step", [PURE, ApproximateEvent(0.25, 1e-7)])
def test_a_search_beside_a_pure_charge_is_refused_for_nobody_could_price_it(step):
    both = ComposedEvent((SelectionEvent(0.05, 10.0), step))
    with pytest.raises(ValueError, match="the accountant's spent"):
        to_dp_event(both, kept_back=1e-6)


def test_no_charge_exports_no_event_and_no_privacy_a_non_private_one():
    nothing = PrivacyAccountant(1.0, DELTA).to_dp_event()
    assert nothing == dp_accounting.NoOpDpEvent()
    assert to_dp_event(GaussianEvent(0.0)) == nothing
    assert to_dp_event(NonPrivateEvent()) == dp_accounting.NonPrivateDpEvent()
    assert pld_price(to_dp_event(GaussianEvent(5e-324))) < 1e-3


def test_a_gaussian_release_is_one_event_with_noise_on_the_private_side():
    event = to_dp_event(GaussianEvent(0.3))
    assert type(event) is dp_accounting.GaussianDpEvent
    assert event.noise_multiplier == math.nextafter(1 / 0.3, 0)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_an_account_is_exported_as_a_whole(adjacency):
    accountant = PrivacyAccountant(3.0, DELTA, adjacency=adjacency)
    for _ in range(4):
        accountant.charge(GaussianEvent(0.1), adjacency=adjacency, unit="row")
    accountant.charge_external("counts", epsilon=0.1, delta=0.0, adjacency=adjacency)
    ours = accountant.spent.epsilon
    assert ours - 1e-4 < pld_price(accountant.to_dp_event()) < ours + 1e-3


def test_a_seeded_charge_makes_the_account_not_private():
    accountant = PrivacyAccountant(3.0, DELTA)
    accountant.charge(GAUSSIAN, seeded=True, **NOTION)
    assert accountant.to_dp_event() == dp_accounting.NonPrivateDpEvent()


@pytest.mark.parametrize(("reasons", "private"), [((), True), (("random_state is set",), False)])
def test_a_report_is_exported_as_private_as_it_is(reasons, private):
    report = PrivacyReport("PCA", 9.0, DELTA, "add-remove", "row", GAUSSIAN, not_private=reasons)
    assert math.isfinite(pld_price(report.to_dp_event())) == private


def test_without_dp_accounting_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("selection"))):
        to_dp_event(GAUSSIAN)
