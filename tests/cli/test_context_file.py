"""The file that declares what a release cannot know of itself."""

import os

import pytest

from .conftest import assert_refused, charges


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('region = "a"\ncurator = "b"\nregion = "c"\n', "is no TOML"),
        ("region = [[]]\n", "region is of type list, and no text"),
        ("region = 3", "region is of type int, and no text"),
        ("region = 2026-01-01", "region is of type date, and no text"),
        ('place = "here"', "'place' is no part of a context"),
        ("a = [", "is no TOML"),
        ("\udcff", "is not in UTF-8"),
        (f"region = {'[' * 5000}", "is no TOML"),
        ("- region\n", "is no TOML"),
        (
            'fitted_before = "No, k=3 was fixed"\n',
            "fitted_before is answered by yes, no or unknown",
        ),
        ('fitted_before = {text = "Never"}\n', "is answered by yes, no or unknown"),
        ('fitted_before = {answer = "", text = "Never"}\n', "is answered by yes, no or unknown"),
        (f"region = {'9' * 5000}\n", "cannot be used"),
    ],
)
def test_a_context_that_says_nothing_clear_is_refused_before_the_charge(
    text, says, fit, ledger, tmp_path
):
    (tmp_path / "context.toml").write_bytes(text.encode(errors="surrogateescape"))
    result = fit("--ledger", ledger, "--context", tmp_path / "context.toml")
    assert_refused(result, says)
    assert len(result.err) < 1000 and charges(ledger) == 0


ODD = {
    "missing": (lambda path: None, "No such file or directory"),
    "pipe": (os.mkfifo, "it is no file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is no file"),
    "folder": (os.mkdir, "it is no file"),
    "long": (lambda path: path.write_text("#" * (2**20 + 1)), "it is larger than 1048576 bytes"),
}


@pytest.mark.parametrize("command", ["fit", "declare"])
@pytest.mark.parametrize("kind", ODD)
def test_a_context_that_may_never_end_is_not_read(command, kind, run, fit, tmp_path):
    make, says = ODD[kind]
    make(tmp_path / "context")
    if command == "declare":
        assert fit().status == 0
        answers = ("--context", tmp_path / "context", "--out", tmp_path / "second")
        result = run("declare", tmp_path / "out", *answers)
    else:
        result = fit("--context", tmp_path / "context")
    assert_refused(result, f"--context {tmp_path / 'context'} cannot be ", says)


def test_a_context_may_be_a_link_and_hold_all_that_a_release_states(fit, tmp_path):
    from skdppca.report import Context
    from skdppca.report._context import HAZARDS

    said = "\U0001f600" * 2000
    answers = {name: f'{{answer = "no", text = "{said}"}}' for name in HAZARDS}
    answers = {name: f'"{said}"' for name in Context().to_dict()} | answers
    text = "".join(f"{name} = {answer}\n" for name, answer in answers.items())
    escaped = text.replace("\U0001f600", "\\U0001F600")
    (tmp_path / "answers.toml").write_text(escaped)
    (tmp_path / "context").symlink_to(tmp_path / "answers.toml")
    assert fit("--context", tmp_path / "context").status == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('fited_before = "no"\n', "'fited_before' is no part of a context"),
        ('fitted_before = "none"\n', "fitted_before is answered by yes, no or unknown"),
        ('fitted_before = "no"\n', ""),
        ('region = "Anytown"\n', ""),
    ],
)
def test_a_check_reads_the_answers_too(text, says, run, table, tmp_path):
    (tmp_path / "context.toml").write_text(text)
    result = run("fit", table, "--check", "--context", tmp_path / "context.toml")
    assert result.status == bool(says) and says in result.out
    assert "no fault was found in its 4 features" in result.out
    assert ("A fit would refuse this, too: --context" in result.out) is bool(says)
    assert result.out.count("Nothing was charged.") == 1
