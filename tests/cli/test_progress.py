import io
import sys

import pytest


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ClosedTerminal(Terminal):
    def write(self, text):
        raise OSError(5, "Input/output error")


def test_no_bar_and_no_rich_without_a_terminal(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert fit().err == ""


def test_on_a_terminal_a_bar_tells_the_steps(fit, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    result = fit()
    assert result.status == 0 and "Written to" in result.out
    assert "writing" in sys.stderr.getvalue() and "Written to" not in sys.stderr.getvalue()


@pytest.mark.parametrize("stderr", [None, ClosedTerminal()])
def test_a_terminal_that_was_closed_ends_no_fit(fit, monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    assert fit().status == 0


def test_on_a_terminal_the_passes_over_files_are_counted(fit, monkeypatch):
    from skdppca.out_of_core import files

    passes, pieces = [], files.Files.pieces
    monkeypatch.setattr(files.Files, "pieces", lambda *a: passes.append(a) or pieces(*a))
    monkeypatch.setattr(files, "PIECE_ENTRIES", 400)
    monkeypatch.setattr(files, "KEPT_ENTRIES", 0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert fit("--method", "gauss").status == 0
    said = sys.stderr.getvalue()
    assert "checking the files" in said and len(passes) > 5
    assert f"pass {len(passes) - 1} over the files" in said and f"pass {len(passes)}" not in said
