"""The comparison of seeded fits with those of an earlier commit."""

from contextlib import nullcontext

import numpy as np
import pytest

from skdppca import DPGauss

from ..benchmark_modules import load

SAME_BITS = load("same_bits")
ROWS = np.random.default_rng(0).standard_normal((300, 4))


def fitted(rows=ROWS, **parameters):
    return SAME_BITS.bits(DPGauss(2, delta=1e-6, random_state=0, **parameters).fit(rows))


def test_a_fit_that_is_repeated_has_the_same_bits():
    assert fitted() == fitted()


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": float(np.nextafter(1.0, 2.0))},
        {"adjacency": "replace-one"},
        {"rows": ROWS.astype(np.float32)},
    ],
)
def test_the_last_bit_of_a_number_that_was_released_is_seen(other):
    assert fitted(**other) != fitted()


def test_every_method_and_kind_of_table_is_compared(tmp_path):
    names = [name for name, _ in SAME_BITS.cases(tmp_path)]
    assert len(set(names)) == len(names) > 800
    for one in (
        "PrivatePCA, groups in a file",
        "DPGauss, two cohorts",
        "KDPOjas, missing",
        "search",
    ):
        assert any(name.startswith(one) for name in names), one


@pytest.mark.parametrize(("but", "fault"), [([], 1), (["mean_"], 0)])
def test_what_differs_is_a_fault_unless_it_is_not_compared(monkeypatch, but, fault):
    found = {"DPGauss, many rows, {}": {"mean_": 1.0}, "KDPPCA, many rows, {}": {"mean_": 1.0}}
    monkeypatch.setattr(SAME_BITS, "checked_out", lambda commit: nullcontext("then"))
    was = found | {"DPGauss, many rows, {}": {"mean_": 2.0}}
    monkeypatch.setattr(SAME_BITS, "found_in", lambda tree: was if tree == "then" else found)
    monkeypatch.setattr("sys.argv", ["same_bits.py", "COMMIT", "--but", *but])
    assert SAME_BITS.main() == fault


def test_names_that_may_differ_are_left_out_at_any_depth():
    told = {"a": 1, "b": [{"a": 2, "c": 3}]}
    assert SAME_BITS.without(told, {"a"}) == {"b": [{"c": 3}]}
