"""The pages with sliders: what they say, and that it was stored or computed."""

import numpy as np
import pytest

from skdppca.planner import plan
from skdppca.privacy import GaussianEvent, coin, detection_rate, mu_of

from ..benchmark_modules import ROOT, load

sliders = load("sliders", ROOT / "doc" / "_ext")
FOR_PAGES = load("plans_for_pages")
PLANS = sliders.plans()


def test_there_is_a_stored_plan_wherever_a_slider_stops():
    numbers = {name: sliders.stops(PLANS, name) for name in ("n", "d", "k", "epsilon")}
    assert [int(n) for n in numbers["n"]] == [*FOR_PAGES.RECORDS]
    assert [float(epsilon) for epsilon in numbers["epsilon"]] == [*FOR_PAGES.EPSILONS]
    found = sliders.answers(PLANS)["plans"]
    kinds, counts = len(sliders.KINDS), [len(values) for values in numbers.values()]
    assert len(found) == kinds * np.prod(counts)
    assert {len(lines) for lines in found.values()} == {7}


def test_the_recommended_method_is_the_first_of_each_plan():
    marks = [row["recommended"] for row in PLANS]
    assert set(marks[::7]) == {"yes"} and marks.count("yes") * 7 == len(marks)


@pytest.mark.parametrize("kind", sliders.KINDS)
def test_the_python_line_of_a_kind_plans_what_was_stored(kind):
    told = eval(f"dict({sliders.KINDS[kind][2].removeprefix(', ')})")
    assert told == FOR_PAGES.KINDS[kind]


@pytest.mark.parametrize("kind", sliders.KINDS)
def test_the_shell_knows_the_command_of_a_kind(kind):
    from skdppca.cli._parser import parser_of

    command = f"plan --n 300 --d 10 --k 2 --epsilon 1{sliders.KINDS[kind][1]}"
    options = vars(parser_of("plan").parse_args(command.split()))
    told = FOR_PAGES.KINDS[kind]
    assert {name: options[name] for name in told} == told


def test_a_stored_plan_is_the_planners_answer():
    # a stored figure has 6 decimals, and other versions of numpy or BLAS draw nearly the same
    found = plan(3000, 10, 2, 1.0, sliders.DELTA, methods=["ResidualGauss"])["ResidualGauss"]
    setting = {"kind": "rows", "n": "3000", "d": "10", "k": "2", "epsilon": "1"}
    (row,) = (
        row for row in PLANS if row["method"] == found.method and setting.items() <= row.items()
    )
    stored = [float(row[name]) for name in ("captured", "low", "high")]
    assert stored == pytest.approx(
        [found.captured, found.captured_low, found.captured_high], abs=2e-3
    )


@pytest.mark.parametrize("name", ["n", "epsilon"])
def test_more_people_or_more_epsilon_never_find_less(name):
    found = {}
    for row in PLANS[::7]:
        others = tuple(row[one] for one in ("kind", "d", "k", "n", "epsilon") if one != name)
        found.setdefault(others, []).append((float(row[name]), row["nothing"] == ""))
    assert all(
        list(seen) == sorted(seen) for seen in ([y for _, y in sorted(f)] for f in found.values())
    )


def test_where_no_method_finds_anything_the_page_says_how_many_people_would_do():
    shown = sliders.answers(PLANS)["nothing"]
    assert 0 < len(shown) < len(PLANS) / 7 and all(
        row["nothing"] or not row["enough"] for row in PLANS
    )
    (setting,) = [one for one in shown if one == "rows,300,10,2,0.1"]
    found = plan(300, 10, 2, 0.1, sliders.DELTA)
    assert found.finds_nothing and shown[setting] == sliders.spaced(found.enough)


@pytest.mark.parametrize("attack", list(sliders.attacks()), ids=lambda attack: attack["epsilon"])
def test_people_are_rounded_up_and_by_less_than_one(attack):
    event = GaussianEvent(mu_of(float(attack["epsilon"]), sliders.DELTA))
    rates = [detection_rate(event, accused / 100) for accused in sliders.ACCUSED]
    for people, share in zip(
        [*attack["found"], attack["coin"]], [*rates, coin(event)], strict=True
    ):
        assert 100 * share <= people < 100 * share + 1


@pytest.mark.parametrize("attack", list(sliders.attacks()), ids=lambda attack: attack["epsilon"])
def test_the_curve_is_drawn_no_lower_than_the_bound(attack):
    event = GaussianEvent(mu_of(float(attack["epsilon"]), sliders.DELTA))
    points = np.array([list(map(float, at.split(","))) for at in attack["curve"][1:].split(" L")])
    x, y = points[:, 0] / sliders.WIDTH, 1 - points[:, 1] / sliders.HEIGHT
    rounding = 0.05 / sliders.WIDTH
    assert np.all(y >= detection_rate(event, np.clip(x - rounding, 0, 1)) - rounding)
