import os
import re
import zipfile
from base64 import b64decode

import pytest

from skdppca.report import _contents, _directory
from skdppca.report._directory import writing

from .conftest import assert_refused

NAMES = ("report.json", "report.html")


def put(directory, *texts):
    for name, text in zip(NAMES, texts, strict=False):
        directory.add(name, lambda file, text=text: file.write(text.encode()))


def found(out):
    return {path.name: path.read_text() for path in out.iterdir() if path.is_file()}


@pytest.fixture
def earlier(tmp_path):
    """A directory with an earlier release."""
    with writing(tmp_path / "out") as directory:
        put(directory, "old a", "old b")
        directory.publish()
    return tmp_path / "out"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_second_run_is_refused_before_its_charge(fit, ledger, tmp_path, force):
    with writing(tmp_path / "out"):
        result = fit("--ledger", ledger, *force)
    assert_refused(result, "another run", ledger=ledger)


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("name", ["", "components.npz"])
def test_what_a_killed_run_leaves_stops_the_next_before_its_charge(
    fit, ledger, tmp_path, name, force
):
    (tmp_path / "out.next").mkdir()
    if name:
        (tmp_path / "out.next" / name).touch()
    result = fit("--ledger", ledger, *force)
    said = f"from a run that was cut short, with {name or 'nothing'} in it"
    assert_refused(result, said, "a new fit is charged again", ledger=ledger)


def test_the_lock_of_a_killed_run_is_in_nobodys_way(fit, tmp_path):
    (tmp_path / "out.lock").touch()
    assert fit().status == 0
    assert not (tmp_path / "out.lock").exists()


@pytest.mark.parametrize("name", ["components.npz", "SHA256SUMS"])
def test_a_directory_in_the_place_of_a_result_is_refused_before_the_charge(
    fit, ledger, tmp_path, name
):
    (tmp_path / "out" / name).mkdir(parents=True)
    said = "it holds no earlier release"
    assert_refused(fit("--ledger", ledger, "--force"), said, ledger=ledger)


def test_nothing_is_in_place_before_all_is_written(earlier):
    with writing(earlier, force=True) as directory:
        put(directory, "new a")
        assert [found(earlier)[name] for name in NAMES] == ["old a", "old b"]
        directory.publish()
    assert set(found(earlier)) == {NAMES[0], "SHA256SUMS"}


def test_a_run_that_ends_before_publishing_leaves_the_earlier_release(earlier):
    before = found(earlier)
    with pytest.raises(KeyboardInterrupt), writing(earlier, force=True) as directory:
        put(directory, "new a")
        raise KeyboardInterrupt
    assert found(earlier) == before
    assert directory.contents().endswith(f"out.next/ has {NAMES[0]}")


@pytest.mark.parametrize("moves", [0, 1])
def test_two_releases_are_never_mixed_even_if_a_move_fails(earlier, monkeypatch, moves):
    done, rename = [], os.rename

    def failing(source, target):
        if len(done) == moves:
            raise OSError(5, "Input/output error")
        done.append(rename(source, target))

    monkeypatch.setattr(_directory.os, "rename", failing)
    with pytest.raises(OSError), writing(earlier, force=True) as directory:
        put(directory, "new a", "new b")
        directory.publish()
    assert not earlier.exists() or found(earlier)[NAMES[0]] == "old a"
    assert found(earlier.with_name("out.next"))[NAMES[0]] == "new a"
    assert all(name in directory.contents() for name in NAMES)


def test_a_file_that_fails_is_not_left_in_part(tmp_path):
    def full(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with writing(tmp_path / "out") as directory:
        with pytest.raises(OSError):
            directory.add(NAMES[0], full)
        assert directory.contents().startswith("nothing was written")
    assert not (tmp_path / "out").exists()


def test_a_directory_that_was_there_stays(tmp_path):
    (tmp_path / "out").mkdir()
    with writing(tmp_path / "out"):
        pass
    assert not any((tmp_path / "out").iterdir())


def test_a_release_that_nobody_could_verify_is_refused_before_the_charge(
    fit, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr(_contents, "MOST_BYTES", 2000)
    assert_refused(fit("--ledger", ledger, "-k", 4), "or release fewer components", ledger=ledger)


def test_no_file_says_when_it_was_written_or_by_which_version(fit, tmp_path):
    assert fit(pictures=True).status == 0
    with zipfile.ZipFile(tmp_path / "out" / "components.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    pictures = re.findall('base64,([^"]*)', (tmp_path / "out" / "report.html").read_text())
    assert len(pictures) == 3
    for picture in map(b64decode, pictures):
        assert b"<metadata>" not in picture and b"Matplotlib" not in picture
