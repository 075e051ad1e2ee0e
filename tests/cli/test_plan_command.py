from contextlib import contextmanager

import pytest

from skdppca import PrivacyAccountant
from skdppca.cli import _plan_command
from skdppca.privacy import GaussianEvent, PureEvent, mu_of

from .conftest import assert_refused

QUESTION = ("plan", "--n", 300, "--d", 4, "--k", 1, "--method", "gauss")


def test_the_table_answers_the_question(run):
    result = run(*QUESTION, "--epsilon", 2)
    assert result.status == 0 and not result.err
    assert result.out.startswith("At n=300, d=4, k=1, epsilon=2, expect ")
    assert "DPGauss" in result.out and "no data were read" in result.out


def test_a_table_along_an_axis_gives_no_range_where_nothing_is_found(run):
    result = run(*("plan", "--n", 20, "--d", 40, "-k", 1, "--method", "gauss"), "--over", "n")
    assert result.status == 0
    first = next(line for line in result.out.splitlines() if line.startswith("2  "))
    assert first.split() == ["2", "nothing", "-", "DPGauss"]


def test_all_that_is_given_reaches_the_plan(run, monkeypatch):
    asked = []

    def answer(**question):
        asked.append(question)
        return "answer"

    monkeypatch.setattr(_plan_command, "plan", answer)
    result = run(
        *("plan", "--n", 50, "--d", 3, "-k", 2, "--epsilon", 0.5, "--delta", 1e-5),
        *("--adjacency", "replace-one", "--spectrum", "3,2,1", "--method", "gauss", "kdppca"),
        *("--groups", 4, "--shared", 0.3, "--scale", "private", "--missing", "mean"),
        *("--tails", "heavy", "--gap", "large", "--sparse"),
    )
    assert result.out == "answer\n"
    (question,) = asked
    assert callable(question.pop("progress"))
    assert question == {
        "n_samples": 50,
        "n_features": 3,
        "n_components": 2,
        "epsilon": 0.5,
        "delta": 1e-5,
        "adjacency": "replace-one",
        "group_size": 4,
        "shared": 0.3,
        "scale": "private",
        "missing": "mean",
        "tails": "heavy",
        "gap": "large",
        "is_sparse": True,
        "spectrum": [3.0, 2.0, 1.0],
        "methods": ["gauss", "kdppca"],
    }


def test_a_bar_moves_with_every_simulated_fit(run, monkeypatch):
    told = []

    @contextmanager
    def progress():
        yield lambda name, share: told.append((name, share))

    monkeypatch.setattr(_plan_command, "progress", progress)
    assert run(*QUESTION).status == 0
    names, shares = zip(*told, strict=True)
    assert set(names) == {"simulating", "simulating DPGauss"}
    assert len(shares) > 12 and list(shares) == sorted(shares)
    assert shares[0] == 0 and shares[-1] == 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "n"), [(2, 1e-6, 2), (0.3, 1e-6, 7), (0.3, 0, 3), (1, 0, 7)]
)
def test_releases_that_share_a_budget_use_it_up(run, monkeypatch, epsilon, delta, n):
    asked = []
    monkeypatch.setattr(_plan_command, "plan", lambda **question: asked.append(question["epsilon"]))
    terms = ("--epsilon", epsilon, "--delta", delta, "--releases", n)
    said = run("plan", "--n", 50, "--d", 3, "-k", 2, *terms).out
    (each,) = asked
    assert f"covers {n} fits of --epsilon {each:g} " in said
    event = GaussianEvent(mu_of(each, delta)) if delta else PureEvent(each)
    accountant = PrivacyAccountant(epsilon, delta)
    for _ in range(n):
        accountant.charge(event, adjacency="add-remove", unit="row")
    assert accountant.spent.epsilon >= 0.99 * epsilon


@pytest.mark.parametrize(
    ("more", "remedy"),
    [
        (("--k", 5), "choose at most 4"),
        (("--epsilon", "inf"), "--epsilon must be a float in the range (0.0, inf). Got inf"),
        (("--n", 1), "--n must be an int in the range [2, "),
        (("--spectrum", "round"), "power-law"),
        (("--spectrum", "1,2,x"), "--spectrum must be a str among"),
        (("--spectrum", "1,2"), "as many variances"),
        (("--method", "pca"), "plan --help"),
        (("--groups", 0), "--groups must be an int in the range [1, "),
    ],
)
def test_wrong_arguments_are_one_line_with_a_remedy(run, more, remedy):
    assert_refused(run(*QUESTION, *more), remedy)


@pytest.mark.parametrize(
    ("given", "name", "wanted"),
    [
        (("-k", "auto"), "n_components", "auto"),
        (("-k", "0.9"), "n_components", 0.9),
        (("-k", "mle"), "n_components", "mle"),
        (("--spectrum", "60,40,1,..."), "spectrum", [60, 40, 1, 1, 1, 1]),
        (("--spectrum", "flat"), "spectrum", "flat"),
    ],
)
def test_what_is_asked_for_is_read_as_it_is_meant(run, monkeypatch, given, name, wanted):
    asked = []
    monkeypatch.setattr(_plan_command, "plan", lambda **question: asked.append(question))
    assert run("plan", "--n", 50, "--d", 6, "-k", 2, *given).status == 0
    assert asked[0][name] == wanted
