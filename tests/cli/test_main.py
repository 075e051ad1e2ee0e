import os
import sys

import pytest

from .conftest import assert_refused
from .test_fit_command import FILES


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ((), "skdppca --help"),
        (("fly",), "skdppca --help"),
        (("fit",), "skdppca fit --help"),
        (("fit", "x.csv", "--epsilon", "much", "--delta", "0", "--out", "o"), "skdppca fit --help"),
        (("ledger",), "skdppca ledger --help"),
    ],
)
def test_wrong_arguments_are_one_line_with_a_remedy(run, arguments, remedy):
    assert_refused(run(*arguments), remedy)


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--norm-bound"])
@pytest.mark.parametrize("value", ["1e400", "-1e400", "nan", "x"])
def test_what_is_no_number_is_refused(fit, ledger, option, value):
    result = fit("--ledger", ledger, f"{option}={value}")
    assert_refused(result, f"{value} is no finite number", ledger=ledger)


def test_an_argument_cannot_steer_the_terminal(run):
    result = run("fit", "\x1b[2J.csv", "--fly", "\x1b[2J\n")
    assert_refused(result)
    assert "\x1b" not in result.err


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (lambda: None, "cannot be printed: Bad file descriptor"),
        (lambda: open("/dev/full", "w"), "cannot be printed: No space left on device"),
        (closed_pipe, ""),
    ],
)
def test_an_output_that_takes_nothing_ends_no_fit(fit, tmp_path, monkeypatch, output, says):
    monkeypatch.setattr(sys, "stdout", stream := output())
    result = fit()
    assert result.status == 1
    assert (says in result.err) if says else not result.err
    assert result.err.count("\n") <= 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    if stream is not None:
        stream.close()  # as at exit: what was not printed must not fail again


@pytest.mark.parametrize("stderr", [lambda: None, lambda: open("/dev/full", "w"), closed_pipe])
def test_an_error_that_cannot_be_printed_is_the_status_alone(run, monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stream := stderr())
    assert run("fly").status == 2
    if stream is not None:
        stream.close()


@pytest.mark.parametrize(("name", "value"), [("epsilon", 25), ("delta", 0.5)])
def test_a_budget_that_hardly_protects_is_one_line_of_warning(fit, name, value):
    result = fit(f"--{name}", value)
    assert result.status == 0
    assert result.err.startswith(f"skdppca: warning: {name}={value} hardly protects anyone")
    assert result.err.count("\n") == 1


def test_a_ledger_with_such_a_budget_warns_too(run, tmp_path):
    path = tmp_path / "large.ledger"
    created = run("ledger", "create", path, "--epsilon", 25, "--delta", 1e-6)
    assert created.status == 0 and created.err.startswith("skdppca: warning: epsilon=25")
    assert not run("ledger", "show", path).err


def test_unforeseen_errors_are_not_hidden(fit, monkeypatch):
    def broken(*_, **__):
        raise AssertionError("a bug")

    monkeypatch.setattr("skdppca.cli._fit_command.opened", broken)
    with pytest.raises(AssertionError):
        fit()
