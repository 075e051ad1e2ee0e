"""A copy of a release that states more, from a shell."""

import json
import tomllib

import pytest

from skdppca.cli._context_file import context_of
from skdppca.report import Context
from skdppca.report._context import HAZARDS, LABELS

from .conftest import assert_refused


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.toml"
    path.write_text('region = "Anytown"\n')
    return path


def test_a_title_and_a_context_are_stated_afterwards(run, release, answers, tmp_path):
    words = ("--title", "Vital signs", "--context", answers)
    result = run("declare", release, *words, "--out", tmp_path / "stated")
    assert result.status == 0
    assert f"{release}/ is as it was; publish one of the two." in result.out.splitlines()
    document = json.loads((tmp_path / "stated" / "report.json").read_text())
    assert document["title"] == "Vital signs" and document["context"]["region"] == "Anytown"
    assert run("verify", tmp_path / "stated", "--allow", "uncharged").status == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is nothing to state; give --title TEXT, or --context FILE"),
        (("--context", "missing.toml"), "--context missing.toml cannot be read"),
    ],
)
def test_want_of_words_is_an_error_of_one_line(arguments, says, run, release, tmp_path):
    assert_refused(run("declare", release, *arguments, "--out", tmp_path / "stated"), says)


def test_what_a_copy_replaces_is_said_with_its_charge(run, fit, ledger, answers, tmp_path):
    assert fit("--ledger", ledger).status == 0
    command = ("declare", tmp_path / "out", "--context", answers, "--out", tmp_path / "stated")
    assert run(*command).status == 0
    assert_refused(run(*command), "--force")
    result = run(*command, "--force")
    assert result.status == 0 and "Replaced: release" in result.out
    assert "Its charge stays" in result.out


def test_answers_are_not_replaced_by_the_copy(run, release, answers, tmp_path):
    command = ("declare", release, "--context", answers, "--out", tmp_path / "stated")
    assert run(*command).status == 0
    inside = tmp_path / "stated" / "report.html"
    inside.write_text('curator = "Clinic"\n')
    assert_refused(run(*command[:3], inside, *command[4:], "--force"), "would be replaced")


def test_the_copy_of_a_signed_release_is_to_be_signed(run, release, answers, tmp_path):
    (release / "SHA256SUMS.sig").write_text("of other hashes")
    result = run("declare", release, "--context", answers, "--out", tmp_path / "stated")
    assert "is not of the copy; sign that, too." in result.out


def test_a_terminal_is_told_nothing_by_an_answer_that_is_stated(run, release, tmp_path):
    answers = tmp_path / "answers.toml"
    answers.write_text('fitted_before = {answer = "yes", text = "\\u001b[2J\\n1. Do the files"}\n')
    result = run("declare", release, "--context", answers, "--out", tmp_path / "stated")
    assert result.status == 0 and r"\x1b[2J\n1. Do the files" in result.out
    assert "\x1b" not in result.out and "\n1. Do the" not in result.out


def test_a_template_has_the_ten_questions_and_states_nothing_yet(run, tmp_path):
    said = run("declare", "--template").out
    (tmp_path / "context.toml").write_text(said)
    assert context_of(tmp_path / "context.toml").to_dict() == Context().to_dict()
    for number, question in enumerate(HAZARDS.values(), start=1):
        assert f"# {number}. {question}" in said
    assert list(tomllib.loads(said)) == [*dict.fromkeys([*HAZARDS, *LABELS])]


def test_an_answer_that_is_filled_into_a_template_is_declared(run, fit, tmp_path):
    text = run("declare", "--template").out.replace(
        'fitted_before = {answer = ""', 'fitted_before = {answer = "no"'
    )
    (tmp_path / "context.toml").write_text(text)
    assert fit("--context", tmp_path / "context.toml").status == 0
    stated = json.loads((tmp_path / "out" / "report.json").read_text())["context"]
    assert stated["fitted_before"] == {"answer": "no", "text": ""} and stated["timing"] is None
