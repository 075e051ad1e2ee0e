"""What was simulated is kept in files; whatever happens to those, a plan is made."""

import pytest

from skdppca.planner import answers, plan


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def simulated(monkeypatch):
    """What was simulated: every time another loss, so that a repeated one was read."""
    made = []

    def predict(problem, effort, tick):
        made.append(1)
        captured = {
            "captured": 0.9 - len(made) / 7e3,
            "captured_low": 0.1,
            "captured_high": 0.9,
            "lost": 0.0,
        }
        return {**captured, "clip": "clipped", "clip_norm": 0.1 + 0.2, "noise_sd": None}

    monkeypatch.setattr(answers, "predict", predict)
    return made


def ask(n=60, epsilon=2.0, **more):
    return plan(n, 3, 1, epsilon, methods=["DPGauss"], **more)


def test_the_same_question_is_simulated_once_and_every_other_one(home, simulated):
    questions = [
        {},
        {"n": 61},
        {"epsilon": 2.5},
        {"delta": 1e-7},
        {"adjacency": "replace-one"},
        {"group_size": 1},
        {"group_size": 2},
        {"group_size": 2, "shared": 0.25},
        {"scale": "private"},
        {"missing": "mean"},
        {"tails": "heavy"},
        {"spectrum": [3.0, 2.0, 1.5]},
    ]
    plans = [ask(**question) for question in questions]
    assert len({one["DPGauss"].captured for one in plans}) == len(questions)
    assert [ask(**question) for question in questions] == plans


def test_other_sources_are_simulated_again(home, simulated, monkeypatch):
    ask()
    monkeypatch.setattr(answers, "_sources", lambda: "other")
    ask()
    assert len(simulated) == 2


@pytest.mark.filterwarnings("ignore:Exception while loading")
@pytest.mark.parametrize("content", [b"", b"{"])
def test_a_file_that_was_cut_short_is_simulated_again(home, simulated, content):
    ask()
    for path in home.rglob("*.pkl"):
        path.write_bytes(content)
    assert ask() == ask()
    assert len(simulated) == 2


def test_without_a_folder_that_can_be_written_a_plan_is_made(home, simulated):
    home.write_text("a file where the folder should be")
    ask()
    ask()
    assert len(simulated) == 2


def test_an_empty_variable_keeps_nothing_and_without_it_the_users_cache_is_taken(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(answers, "user_cache_path", lambda *_, **__: tmp_path)
    monkeypatch.setenv(answers.VARIABLE, "")
    assert answers._memory().location is None
    monkeypatch.delenv(answers.VARIABLE)
    assert answers._memory().location.startswith(str(tmp_path / "plans"))


def test_what_was_refused_is_not_kept(home):
    with pytest.raises(ValueError, match="too little"):
        plan(1000, 5, 2, epsilon=1e-12, methods=["KDPOjas"])
    assert not list(home.rglob("*.pkl"))


def test_without_a_home_nothing_is_kept(monkeypatch):
    def homeless(*_, **__):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(answers, "user_cache_path", homeless)
    monkeypatch.delenv(answers.VARIABLE, raising=False)
    assert answers._memory().store_backend is None
