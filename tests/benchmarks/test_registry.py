"""What tables depend on, and how they are measured again."""

import math
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest

from ..benchmark_modules import BENCHMARKS, load

COMMON, MEASURE, REGISTRY, SOURCES = map(load, ("_common", "measure", "registry", "sources"))
SCRIPT = '''"""Docstring."""
import helper

def loss(x):
    """What it does."""
    if x < 0:
        raise ValueError(f"x is {x}")
    return helper.half(x)  # comment
'''
HELPER = "def half(x):\n    return x / 2\n"


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """Digest of a script beside a module."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    monkeypatch.setattr(SOURCES, "BENCHMARKS", folder)

    def digest(script, helper=HELPER):
        (folder / "script.py").write_text(script)
        (folder / "helper.py").write_text(helper)
        for cached in (SOURCES.depends, SOURCES._parsed, SOURCES._imported, SOURCES._tree):
            cached.cache_clear()
        return SOURCES.digest(folder / "script.py")

    yield digest
    for cached in (SOURCES.depends, SOURCES._parsed, SOURCES._imported, SOURCES._tree):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# comment", "# another"),
        ("What it does.", "What else it does."),
        ("x is {x}", "negative: {x}"),
        ("import helper", "import   helper"),
        ("def loss(x)", "def loss(x: float) -> float"),
    ],
)
def test_words_make_no_table_stale(digest, old, new):
    assert digest(SCRIPT.replace(old, new)) == digest(SCRIPT)


def test_code_makes_tables_stale_in_the_script_and_in_what_it_imports(digest):
    before = digest(SCRIPT)
    assert digest(SCRIPT.replace("x < 0", "x < 1")) != before
    assert digest(SCRIPT, HELPER.replace("2", "3")) != before


def test_code_of_r_beside_a_script_makes_its_tables_stale(digest, tmp_path):
    driver, found = tmp_path / "benchmarks" / "script.R", {digest(SCRIPT)}
    for code in ("x <- 1", "x <- 2"):
        driver.write_text(code)
        found.add(digest(SCRIPT))
    assert len(found) == 3


def test_functions_that_compute_no_figure_make_no_table_stale(digest):
    after = HELPER + "def wrong_labels(names):\n    return sorted(names)\n"
    assert digest(SCRIPT, after) == digest(SCRIPT, after.replace("sorted", "set"))
    assert digest(SCRIPT, after) != digest(SCRIPT, after.replace("wrong_labels", "labels"))


@pytest.mark.parametrize("module", ["mechanisms/gram", "noise/discrete", "decomposition/shares"])
def test_a_fit_depends_on_the_rooms_that_compute(module):
    module = module.replace("decomposition", "decomposition/gdppca")
    found = SOURCES.depends(BENCHMARKS / "bench_tails.py")
    assert SOURCES.PACKAGE / f"{module}.py" in found


def test_a_fit_depends_on_no_page():
    found = SOURCES.depends(BENCHMARKS / "bench_tails.py")
    rooms = {path.relative_to(SOURCES.PACKAGE).parts[0] for path in found if "skdppca" in str(path)}
    assert not rooms & {"cli", "report", "plotting"}


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
    names = [option for option in options if not option.isdigit()]
    assert all(f'"{name}"' in source for name in names)
    numbered = [name for name, number in pairwise(options) if number.isdigit()]
    assert all(f'"{name}", type=int' in source for name in numbered)
    assert ("--save" in part.command) == ("arguments(__doc__)" in source)


def test_readme_has_the_table_of_the_registry():
    assert REGISTRY.readme() in (BENCHMARKS / "README.md").read_text()


def test_minutes_are_of_parts():
    assert REGISTRY.timed().keys() <= {part.script for part in REGISTRY.PARTS}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(COMMON, "RESULTS", tmp_path)
    monkeypatch.setattr(COMMON, "RAW", tmp_path / "raw")
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
    monkeypatch.setattr(MEASURE, "DONE", results / "raw" / "measured.txt")
    monkeypatch.setattr(MEASURE, "note", lambda part: None)
    monkeypatch.setattr(MEASURE.make_tables, "main", lambda: None)
    monkeypatch.setattr(REGISTRY, "write_readme", lambda writer, table: None)
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
    assert not MEASURE.DONE.exists()


@pytest.fixture
def clock(results, monkeypatch):
    """Time that passes only where a test says so; each command takes what it is told."""
    clock = SimpleNamespace(now=0.0, takes=[], keeps="")

    def command(command, timeout, check):
        took = clock.takes.pop(0)
        clock.now += min(took, timeout)
        if clock.keeps:
            with (results / "raw" / clock.keeps).open("a") as file:
                file.write("1")
        if took == math.inf:
            raise KeyboardInterrupt
        if took > timeout:
            raise subprocess.TimeoutExpired(command, timeout)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(MEASURE.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(MEASURE.subprocess, "run", command)
    return clock


def test_what_a_part_takes_is_stored(clock):
    tails, scale = map(REGISTRY.part_of, ("tails", "scale"))
    clock.takes = [600.0, 10.0]
    assert MEASURE.run(tails)
    assert MEASURE.run(scale)
    assert (tails.minutes, scale.minutes) == (10, 1)
    assert "| 10 |" in REGISTRY.readme()


def test_a_part_that_was_stopped_takes_the_time_of_both_runs(clock, results):
    tails = REGISTRY.part_of("tails")
    clock.keeps = f"{tails.digest}/kept.json"
    (results / "raw" / tails.digest).mkdir(parents=True)
    clock.takes = [5000.0, math.inf, 1200.0]
    with pytest.raises(KeyboardInterrupt):
        MEASURE.run(tails)
    assert tails.minutes is None
    assert MEASURE.run(tails)
    assert tails.minutes == 60 + 60 + 20


def test_a_part_whose_beginning_nobody_timed_keeps_its_minutes(clock, results):
    tails = REGISTRY.part_of("tails")
    (results / "raw" / tails.digest).mkdir(parents=True)
    (results / "raw" / tails.digest / "kept.json").write_text("1")
    clock.takes = [600.0]
    assert MEASURE.run(tails)
    assert tails.minutes is None


def test_a_table_is_put_into_readme_in_place_of_the_one_there(tmp_path, monkeypatch):
    monkeypatch.setattr(REGISTRY, "README", tmp_path / "README.md")
    for line in ("one.py", "two.py"):
        with REGISTRY.README.open("a") as file:
            file.write(f"Before.\n\n<!-- {line} writes this table -->\n\n| old |\n\nAfter.\n\n")
    whole = REGISTRY.README.read_text()
    REGISTRY.write_readme("two.py", "| new |")
    first, second = whole.split("<!-- two.py")
    assert REGISTRY.README.read_text() == f"{first}<!-- two.py{second.replace('old', 'new')}"
    with pytest.raises(ValueError, match="no line"):
        REGISTRY.write_readme("three.py", "| new |")


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


def test_the_lists_are_printed():
    for option in ([], ["--stale"]):
        command = [sys.executable, str(BENCHMARKS / "measure.py"), *option]
        assert subprocess.run(command, capture_output=True, check=True).stdout
