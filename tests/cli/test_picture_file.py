import sys

import pytest

from skdppca.cli import _fit_command
from skdppca.privacy.installing import how_to_install
from skdppca.report import _release
from skdppca.report._pictures import settings

from .conftest import assert_refused
from .test_fit_command import FILES

matplotlib = pytest.importorskip("matplotlib")


def broken(*_):
    raise RuntimeError("Can not load face (error code 0x2)\nin s3cret")


def test_drawing_leaves_the_settings_as_they_were():
    with matplotlib.rc_context({"text.usetex": True}):
        with settings():
            assert not matplotlib.rcParams["text.usetex"]
        assert matplotlib.rcParams["text.usetex"]


def test_pictures_that_cannot_be_drawn_are_found_before_the_charge(fit, ledger, monkeypatch):
    monkeypatch.setattr(_release, "draw", broken)
    result = fit("--ledger", ledger, pictures=True)
    assert_refused(result, "Can not load face", "--no-pictures", ledger=ledger)
    assert fit("--ledger", ledger).status == 0


def test_pictures_that_fail_after_the_charge_cost_no_other_file(fit, ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(_fit_command, "rehearse", lambda *_, **__: None)
    monkeypatch.setattr(_release, "draw", broken)
    result = fit("--ledger", ledger, pictures=True)
    assert result.status == 0
    assert "No pictures: matplotlib failed with RuntimeError" in result.out
    assert "s3cret" not in result.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_a_fit_without_matplotlib_has_no_picture(fit, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = fit(pictures=True)
    assert result.status == 0
    assert how_to_install("report") in result.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
