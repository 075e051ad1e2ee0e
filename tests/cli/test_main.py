import runpy
import sys

import pytest

from skdppca.cli import _main

from .conftest import is_one_line_error


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ((), "skdppca --help"),
        (("fly",), "skdppca --help"),
        (("fit",), "skdppca fit --help"),
        (("fit", "x.csv", "--epsilon", "much", "--delta", "0", "--out", "o"), "skdppca fit --help"),
        (("fit", "x.csv", "-k", "2.5"), "integer of at least 1"),
        (("fit", "x.csv", "-k", "0"), "integer of at least 1"),
        (("ledger",), "skdppca ledger --help"),
    ],
)
def test_wrong_arguments_are_one_line_with_a_remedy(run, arguments, remedy):
    result = run(*arguments)
    assert is_one_line_error(result)
    assert remedy in result.err


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("0.9", 0.9), ("auto", "auto"), ("mle", "mle"), ("1e1", 10)]
)
def test_components_are_an_int_a_share_auto_or_mle(text, value):
    assert _main._components(text) == value
    assert type(_main._components(text)) is type(value)


def test_running_out_of_memory_does_not_tell_the_shape(run, table, budget, tmp_path, monkeypatch):
    def exhausted(*_):
        raise MemoryError("Unable to allocate 1 GiB for an array with shape (12345, 4)")

    monkeypatch.setattr("skdppca.cli._fit.read", exhausted)
    result = run("fit", table, *budget, "--out", tmp_path / "out")
    assert is_one_line_error(result)
    assert "12345" not in result.err


def test_an_interrupt_is_one_line_and_status_130(run, table, budget, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("skdppca.cli._fit.read", interrupted)
    result = run("fit", table, *budget, "--out", tmp_path / "out")
    assert result.status == 130
    assert result.err.count("\n") == 1


def test_unforeseen_errors_are_not_hidden(run, table, budget, tmp_path, monkeypatch):
    def broken(*_):
        raise AssertionError("a bug")

    monkeypatch.setattr("skdppca.cli._fit.read", broken)
    with pytest.raises(AssertionError):
        run("fit", table, *budget, "--out", tmp_path / "out")


def test_the_module_runs_as_the_command(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["skdppca", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("skdppca", run_name="__main__")
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("skdppca ")
