import sys
from contextlib import contextmanager

import pytest

from skdppca import PrivacyAccountant, planner
from skdppca.cli import _fit_command, _plan_command
from skdppca.cli._plan_command import PLANNED
from skdppca.decomposition import METHODS
from skdppca.privacy import GaussianEvent, PureEvent, mu_of
from skdppca.privacy.installing import how_to_install

from .conftest import is_one_line_error

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
        *("--tails", "heavy", "--gap", "large", "--sparse", "--cohorts", 3),
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
        "cohorts": 3,
        "spectrum": [3.0, 2.0, 1.0],
        "methods": ["DPGauss", "KDPPCA"],
    }


@pytest.mark.parametrize(("given", "wanted"), [("auto", "auto"), ("0.9", 0.9), ("mle", "mle")])
def test_components_may_be_asked_for_as_for_a_fit(run, monkeypatch, given, wanted):
    asked = []
    monkeypatch.setattr(_plan_command, "plan", lambda **question: asked.append(question))
    assert run("plan", "--n", 50, "--d", 3, "-k", given).status == 0
    assert asked[0]["n_components"] == wanted


def test_a_bar_moves_with_every_simulated_fit(run, monkeypatch):
    told = []

    @contextmanager
    def moving():
        yield lambda name, share: told.append((name, share))

    monkeypatch.setattr(_plan_command, "moving", moving)
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


def test_methods_have_short_names():
    known = {
        "gauss": "DPGauss",
        "gdppca": "GDPPCA",
        "kdpojas": "KDPOjas",
        "kdppca": "KDPPCA",
        "power": "DPPowerMethod",
        "residual-gauss": "ResidualGauss",
        "smooth": "SmoothSensitivityPCA",
    }
    assert PLANNED | known == PLANNED


def test_every_method_that_can_be_chosen_can_be_planned():
    assert {"auto", *PLANNED} == set(_fit_command.METHODS)
    for name, method in PLANNED.items():
        assert _fit_command.METHODS[name] is METHODS[method].estimator
        assert _fit_command.METHODS[name].__name__ == method


@pytest.mark.parametrize("name", METHODS)
def test_a_method_sees_a_spectrum_exactly_if_it_takes_a_share_of_the_variance(name):
    try:
        METHODS[name].estimator(0.9)._validate_params()
        takes_a_share = True
    except ValueError:
        takes_a_share = False
    assert METHODS[name].spectral == takes_a_share


@pytest.mark.slow
@pytest.mark.parametrize("over", ["epsilon", "n"])
def test_a_picture_is_written_whatever_the_users_settings(run, tmp_path, over):
    matplotlib = pytest.importorskip("matplotlib")
    path = tmp_path / "plan.png"
    with matplotlib.rc_context({"text.usetex": True, "text.latex.preamble": r"\nonsense"}):
        result = run(*QUESTION, "--plot", path, "--over", over)
    assert result.status == 0 and str(path) in result.out
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "values"),
    [("epsilon", ["0.1", "0.316", "1", "3.16", "10"]), ("n", ["30", "95", "300", "949", "3000"])],
)
def test_a_table_over_a_number_is_printed_without_a_picture(run, over, values):
    table = run(*QUESTION, "--over", over).out.split("\n\n")[-1].splitlines()
    assert table[0].split()[:2] == [over, "captured"]
    assert [line.split()[0] for line in table[1:]] == values


def test_the_last_variance_is_repeated_for_all_that_follow(run, monkeypatch):
    asked = []
    monkeypatch.setattr(_plan_command, "plan", lambda **question: asked.append(question))
    run("plan", "--n", 50, "--d", 6, "-k", 2, "--spectrum", "60,40,1,...")
    assert asked[0]["spectrum"] == [60, 40, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("more", "remedy"),
    [
        (("--k", 5), "choose at most 4"),
        (("--epsilon", 0), "--epsilon: 0 leaves no budget"),
        (("--epsilon", "inf"), "--epsilon: inf is no budget"),
        (("--delta", 1), "--delta: 1 promises nothing"),
        (("--n", 1), "--n: 1 is no number of records"),
        (("--d", 0), "--d: 0 is no number of features"),
        (("--spectrum", "round"), "power-law"),
        (("--spectrum", "1,2,x"), "commas"),
        (("--spectrum", "1,2"), "as many variances"),
        (("--spectrum", "1,2"), "--spectrum 60,40,1,..."),
        (("--plot", "plan.jpg"), ".png"),
        (("--plot", "no/such/plan.png"), "make it first"),
        (("--method", "pca"), "plan --help"),
        (("--groups", 0), "--groups: 0 is no number of rows"),
        (("--shared", 2), "--shared: 2 is no share"),
    ],
)
def test_wrong_arguments_are_one_line_with_a_remedy(run, more, remedy):
    result = run(*QUESTION, *more)
    assert is_one_line_error(result)
    assert remedy in result.err


def test_without_matplotlib_nothing_is_simulated_for_a_picture(run, tmp_path, monkeypatch):
    def simulated(*_, **__):
        raise AssertionError("simulated")

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(_plan_command, "plan", simulated)
    result = run(*QUESTION, "--plot", tmp_path / "plan.png")
    assert is_one_line_error(result)
    assert how_to_install("plot") in result.err


def test_the_command_asks_the_planner():
    assert _plan_command.plan is planner.plan
