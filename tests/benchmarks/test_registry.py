"""The list of benchmarks, and how its tables are measured and stored."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from ..benchmark_modules import BENCHMARKS, load

COMMON, MEASURE, REGISTRY = map(load, ("_common", "measure", "registry"))


def test_every_stored_table_has_its_part_once():
    tables = [table for part in REGISTRY.PARTS for table in part.tables]
    folders = (BENCHMARKS / "results", BENCHMARKS.parent / "doc" / "experiments")
    stored = {path.stem for folder in folders for path in folder.glob("*.csv")}
    stored -= {"experiments", "minutes"}
    assert len(tables) == len(set(tables))
    assert stored <= set(tables)


@pytest.mark.parametrize("part", REGISTRY.PARTS, ids=lambda part: part.script)
def test_every_part_is_a_script_with_known_options(part):
    _, *options = part.script.split()
    source = part.path.read_text()
    if saves := "measure(__doc__" in "".join(source.split()):
        assert options in ([], ["--only", *part.tables])
        options = []
    names = [option for option in options if not option.isdigit()]
    assert all(f'"{name}"' in source or f"{name[2:]}=" in source for name in names)
    assert ("--save" in part.command) == saves


def test_minutes_are_of_parts():
    assert COMMON.noted("minutes").keys() <= {part.script for part in REGISTRY.PARTS}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(COMMON, "RESULTS", tmp_path)
    monkeypatch.setattr(COMMON, "RAW", tmp_path / "raw")
    (tmp_path / "raw" / "x").mkdir(parents=True)
    monkeypatch.setattr(COMMON, "commit", lambda: "x")
    monkeypatch.setenv(COMMON.SAVE, str(tmp_path / "raw"))
    return tmp_path


@pytest.mark.parametrize(("table", "stored"), [("speed", False), ("tails", True)])
def test_times_of_a_busy_machine_are_not_stored(results, monkeypatch, table, stored):
    monkeypatch.setattr(COMMON, "LOAD", (COMMON.BUSY + 0.1, 0.0, 0.0))
    try:
        COMMON.save(table, [{"seconds": 1}], {})
    except SystemExit as refused:
        assert "busy" in str(refused) or "load" in str(refused)
    assert (results / f"{table}.csv").exists() == stored


def test_times_of_an_idle_machine_are_stored(results, monkeypatch):
    monkeypatch.setattr(COMMON, "LOAD", (0.0, 0.0, 0.0))
    COMMON.save("speed", [{"seconds": 1}], {})
    assert COMMON.load("speed") == ([{"seconds": "1"}], {})


def test_without_save_nothing_is_stored(results, monkeypatch):
    monkeypatch.delenv(COMMON.SAVE)
    COMMON.save("tails", [{"median": 1}], {})
    assert not (results / "tails.csv").exists()


def test_an_interrupted_run_goes_on_with_what_it_kept(results):
    calls = []

    def loss(seed):
        calls.append(seed)
        return [seed / 2]

    assert [COMMON.kept(loss, seed) for seed in (1, 2, 1)] == [[0.5], [1.0], [0.5]]
    assert calls == [1, 2]


def test_a_run_of_all_goes_on_after_its_last_part(results, monkeypatch):
    parts = [part for part in REGISTRY.PARTS if part.tables[0] in ("tails", "outliers", "scale")]
    monkeypatch.setattr(MEASURE, "note", lambda part: None)
    monkeypatch.setattr(MEASURE.make_tables, "main", lambda: None)
    asked, broken = [], {parts[1].script}

    def run(part):
        asked.append(part.script)
        return part.script not in broken

    monkeypatch.setattr(MEASURE, "run", run)
    assert len(MEASURE.measure(parts, again=True)) == 1
    assert len(asked) == 3
    broken.clear()
    assert MEASURE.measure(parts, again=True) == []
    assert asked[3:] == [parts[1].script]
    assert not (results / "raw" / "x").exists()


@pytest.mark.parametrize(("stopped_before", "minutes"), [(False, 10), (True, None)])
def test_what_a_whole_run_of_a_part_takes_is_stored(results, monkeypatch, stopped_before, minutes):
    now, tails = [0.0], REGISTRY.part_of("tails")

    def command(command, check):
        now[0] += 600.0
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(MEASURE.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(MEASURE.subprocess, "run", command)
    if stopped_before:
        (results / "raw" / "x" / "bench_tails").mkdir()
    assert MEASURE.run(tails)
    assert tails.minutes == minutes


def test_a_result_says_date_processor_and_commit():
    stored = [path.stem for path in COMMON.RESULTS.glob("*.csv")]
    facts = {
        name: COMMON.load(name)[1] for name in stored if name not in ("experiments", "minutes")
    }
    facts |= COMMON.noted("experiments")
    assert {
        name for name, one in facts.items() if not {"date", "cpu", "commit"} <= one.keys()
    } == set()
    assert facts.keys() == {table for part in REGISTRY.PARTS for table in part.tables}


def test_a_busy_machine_leaves_parts_with_times_out(monkeypatch):
    monkeypatch.setattr(MEASURE, "WAIT", 0)
    monkeypatch.setattr(MEASURE.os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    why = {part.tables[0]: MEASURE.lacking(part) for part in REGISTRY.PARTS}
    assert "load" in why["speed"]
    assert not why["tails"]


def test_without_r_its_package_is_left_out(monkeypatch):
    monkeypatch.setattr(MEASURE.shutil, "which", lambda name: None)
    part = REGISTRY.part_of("dppca_package")
    assert MEASURE.lacking(part) == "there is no Rscript"


def test_the_list_is_printed():
    command = [sys.executable, str(BENCHMARKS / "measure.py")]
    assert subprocess.run(command, capture_output=True, check=True).stdout
