"""The scripts of the example: what they say when they are called wrongly, and what they print."""

import re
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr")

from .local_sites import make

EXAMPLE = Path(__file__).parents[2] / "examples" / "federated"
SCRIPTS = ("make_data", "make_certificates", "make_key", "make_study", "fit", "on_one_machine")


@pytest.fixture
def call(monkeypatch, tmp_path, capsys):
    """Run a script in an empty folder: its exit status, and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLE)

    def command(name, *arguments):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        status = 0
        try:
            runpy.run_path(str(EXAMPLE / f"{name}.py"), run_name="__main__")
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return command


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_explains_itself(call, name):
    status, said, _ = call(name, "--help")
    assert not status and said.startswith(f"usage: {name}.py")
    status, _, said = call(name)
    assert status == 2 and said.startswith(f"usage: {name}.py")
    assert "the following arguments are required" in said


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("make_key", ["missing/analyst.key"], "in a folder that exists"),
        ("make_study", ["north"], "'north' is no NAME=KEY"),
        ("make_study", ["north=abc"], "sites={'north': 'abc'} is not valid"),
        ("fit", ["127.0.0.1:1"], "study.json: No such file or directory; check the path"),
        ("on_one_machine", ["."], "is not empty; choose a folder that is"),
    ],
)
def test_what_a_script_cannot_do_is_said_in_a_line(call, tmp_path, name, arguments, reason):
    (tmp_path / "file").touch()
    status, _, said = call(name, *arguments)
    assert status in (1, 2)
    assert said.splitlines()[-1].startswith(f"{name}.py: ") and reason in said.splitlines()[-1]


def test_certificates_are_never_replaced(call, tmp_path):
    assert call("make_certificates", "server", "127.0.0.1")[0] == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "server").iterdir()}
    status, _, said = call("make_certificates", "server", "127.0.0.1")
    assert status == 1 and "exists already" in said
    assert {file.name: file.read_bytes() for file in (tmp_path / "server").iterdir()} == before


def test_the_analyst_sees_the_id_that_the_ledgers_hold(call, tmp_path, monkeypatch):
    columns = ("age", "weight", "height", "pulse")
    X = np.random.default_rng(0).normal(size=(600, 4)) * [4, 3, 2, 1] + 10
    made = make(tmp_path, [(X[i::3], None) for i in range(3)], columns=columns)
    made.study.write("study.json")
    transport = "skdppca.federated.flower.FlowerTransport"
    monkeypatch.setattr(transport, lambda *_, **__: nullcontext(made.transport))
    status, said, _ = call("fit", "127.0.0.1:8000")
    (release,) = re.findall("^release ([0-9a-f]{64})$", said, re.MULTILINE)
    assert status == 0
    for site in made.sites.values():
        assert {row.release for row in site.ledger.releases} == {release}
