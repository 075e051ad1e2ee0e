"""A record's numbers follow from that record alone, to the bit, and none are kept for others."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from skdppca.noise import NoiseSource
from skdppca.records import Records
from skdppca.statistics import Distances, Measure, Squares, View

from ..kernels import skip_if_missing
from .cases import FORMS, MEASURES, VIEWS, D, Form, Words, records_of, some_records

OF_ONE = [
    pytest.param(measure, FORMS[form], id=f"{name}-{i}-{form}")
    for name, rows in MEASURES.items()
    for i, (measure, forms) in enumerate(rows)
    for form in forms
]
VIEWED = [
    pytest.param(view, FORMS[form], id=f"{name}-{form}")
    for name, rows in VIEWS.items()
    for view, forms in rows
    for form in forms
]


def numbers_of(records: list[np.ndarray], measure: Measure, form: Form, **more) -> np.ndarray:
    return records_of(records, form, **more).measured(measure)


@pytest.mark.parametrize(("measure", "form"), OF_ONE)
def test_a_records_numbers_do_not_follow_other_records(measure: Measure, form: Form):
    records = some_records(form)
    among = numbers_of(records, measure, form)
    order = np.random.default_rng(4).permutation(len(records))
    assert np.array_equal(numbers_of([records[i] for i in order], measure, form), among[order])
    others = some_records(form, seed=8)
    for i, place in ((0, 0), (5, 17), (7, 1), (9, 17), (15, 0), (16, 1)):  # 7 is large, 9 empty
        assert np.array_equal(numbers_of([records[i]], measure, form)[0], among[i])
        mixed = [*others[:place], records[i], *others[place:]]
        assert np.array_equal(numbers_of(mixed, measure, form)[place], among[i])


@pytest.mark.parametrize(("measure", "form"), OF_ONE)
def test_a_records_numbers_do_not_follow_threads_or_memory(measure: Measure, form: Form):
    records = some_records(form)
    expected = numbers_of(records, measure, form)
    assert np.array_equal(numbers_of(records, measure, form, n_jobs=2), expected)
    if form.is_sparse:
        return
    X = np.vstack(records)
    groups = np.repeat(np.arange(len(records)), [len(r) for r in records]) if form.grouped else None
    copies = [np.asfortranarray(X), np.hstack([X, X])[:, :D]]
    for start in (1, 2, 3, 5):  # other alignments
        copies.append(np.empty(X.size + 8)[start : start + X.size].reshape(X.shape))
        copies[-1][:] = X
    for rows in copies:
        there = Records.of(rows, groups, may_miss=form.may_miss)
        assert np.array_equal(there.measured(measure), expected)


@pytest.mark.parametrize("row", range(len(MEASURES["AdjacentDifferences"])))
def test_a_difference_follows_two_records_alone(row):
    measure = MEASURES["AdjacentDifferences"][row][0]
    assert measure.moved == 2
    rows = np.random.default_rng(0).normal(size=(30, D))
    view = VIEWS["MeanRows"][0][0]
    whole = view.of(Records.of(rows)).shuffled(Words(1))
    found, cycle = whole.measured(measure), whole.private_cycle
    for place in range(30):
        pair = rows[cycle[[place, (place + 1) % 30]]]
        alone = view.of(Records.of(pair)).shuffled(Words(1))
        assert np.array_equal(alone.measured(measure), np.repeat(found[place], 2))


def derivations(records: Records) -> list[Records]:
    """What comes of records by other ways than a view."""
    return [
        *records.parts((1, 2), NoiseSource(3)),
        records.explicit(),
        records.ungrouped(),
        records.scaled(np.full(D, 3.0)),
        records.shuffled(Words(3)),
        copy.copy(records),
        pickle.loads(pickle.dumps(records)),
    ]


def fresh_and_warm(form: Form, measure: Measure) -> tuple[Records, Records]:
    """The same records, of which one were measured before."""
    fresh, warm = (records_of(some_records(form), form) for _ in range(2))
    warm.measured(measure)
    return fresh, warm


@pytest.mark.parametrize(("measure", "form"), OF_ONE)
def test_derived_records_are_measured_anew(measure: Measure, form: Form):
    fresh, warm = fresh_and_warm(form, measure)
    before = warm.measured(measure).copy()
    for expected, found in zip(derivations(fresh), derivations(warm), strict=True):
        if isinstance(measure, Squares) and found.is_explicit:
            continue  # nobody asks for them
        assert np.array_equal(found.measured(measure), expected.measured(measure))
        # nor do the first ones take anything from what came of them
        assert np.array_equal(warm.measured(measure), before)


@pytest.mark.parametrize(("view", "form"), VIEWED)
def test_records_through_a_view_are_measured_anew(view: View, form: Form):
    measure = Distances(np.zeros(D))
    fresh, warm = fresh_and_warm(form, measure)
    before = warm.measured(measure).copy()
    expected, found = view.of(fresh), view.of(warm)
    there = Distances(np.zeros(found.n_features))
    assert np.array_equal(found.measured(there), expected.measured(there))
    assert np.array_equal(warm.measured(measure), before)


def test_what_was_measured_is_not_pickled():
    records = Records.of(np.eye(D))
    secret = records.measured(Distances(np.full(D, 0.1)))
    assert secret.tobytes() not in pickle.dumps(records)


def test_few_measures_are_kept_and_the_last_ones_are_right():
    records, rows = Records.of(np.eye(D)), np.eye(D)
    for shift in range(12):
        centre = np.full(D, float(shift % 5))
        found = records.measured(Distances(centre))
        assert found == pytest.approx(np.linalg.norm(rows - centre, axis=1))


# What OPENBLAS_CORETYPE asks for, and what threadpoolctl may call it.
KERNELS = {
    "Haswell": {"Haswell"},
    "Nehalem": {"Nehalem"},
    "Prescott": {"Prescott", "Katmai"},
    "SkylakeX": {"SkylakeX"},
    "Zen": {"Zen"},
}
WHICH = """
import numpy, scipy.linalg, threadpoolctl
print({info.get("architecture") for info in threadpoolctl.threadpool_info()})
"""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_records_numbers_do_not_follow_others_with_other_kernels(kernel):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | {"OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    skip_if_missing(kernel)
    which = run("-c", WHICH).stdout
    if not any(repr(name) in which for name in KERNELS[kernel]):
        pytest.skip(f"this BLAS runs {which} where {kernel} is asked for")
    tests = "not_follow_other_records or not_follow_threads_or_memory"
    process = run("-m", "pytest", "-q", "-x", __file__, "-k", tests)
    assert process.returncode == 0, process.stdout[-3000:]
