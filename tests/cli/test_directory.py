import os
import re
import zipfile
from base64 import b64decode

import pytest

from skdppca.report import _contents, _directory
from skdppca.report._directory import claimed

from .conftest import charges, is_one_line_error

NAMES = ("a", "b")


def put(directory, **texts):
    for name, text in texts.items():
        directory.add(name, lambda file, text=text: file.write(text.encode()))


def found(out):
    return {path.name: path.read_text() for path in out.iterdir() if path.is_file()}


@pytest.fixture
def earlier(tmp_path):
    """A directory with an earlier release."""
    with claimed(tmp_path / "out", NAMES, force=False) as directory:
        put(directory, a="old a", b="old b")
        directory.publish()
    return tmp_path / "out"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_second_run_is_refused_before_its_charge(fit, ledger, tmp_path, force):
    with claimed(tmp_path / "out", NAMES, force=False):
        result = fit("--ledger", ledger, *force)
    assert is_one_line_error(result)
    assert "another run" in result.err
    assert charges(ledger) == 0


def test_what_a_killed_run_leaves_is_in_nobodys_way(fit, tmp_path):
    (tmp_path / "out" / "unfinished-xyz").mkdir(parents=True)
    (tmp_path / "out" / _directory.LOCK).touch()
    assert fit().status == 0
    assert not (tmp_path / "out" / "unfinished-xyz").exists()


def test_files_of_a_run_that_was_cut_short_are_named_and_kept(fit, tmp_path):
    (tmp_path / "out" / "unfinished-xyz").mkdir(parents=True)
    (tmp_path / "out" / "unfinished-xyz" / "components.npz").touch()
    result = fit()
    assert is_one_line_error(result)
    assert "unfinished-xyz/ is from a run that was cut short" in result.err
    assert fit("--force").status == 0
    assert (tmp_path / "out" / "unfinished-xyz" / "components.npz").exists()


@pytest.mark.parametrize("name", ["components.npz", "SHA256SUMS"])
def test_a_directory_in_the_place_of_a_result_is_refused_before_the_charge(
    fit, ledger, tmp_path, name
):
    (tmp_path / "out" / name).mkdir(parents=True)
    result = fit("--ledger", ledger, "--force")
    assert is_one_line_error(result)
    assert "move it away" in result.err
    assert charges(ledger) == 0


def test_nothing_is_in_place_before_all_is_written(earlier):
    with claimed(earlier, NAMES, force=True) as directory:
        put(directory, a="new a")
        assert found(earlier).items() >= {"a": "old a", "b": "old b"}.items()
        directory.publish()
    assert set(found(earlier)) == {"a", "SHA256SUMS"}


def test_a_run_that_ends_before_publishing_leaves_the_earlier_release(earlier):
    before = found(earlier)
    with pytest.raises(KeyboardInterrupt), claimed(earlier, NAMES, force=True) as directory:
        put(directory, a="new a")
        raise KeyboardInterrupt
    assert found(earlier) == before
    assert directory.contents().endswith("/ has a")


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_two_releases_are_never_mixed_even_if_a_move_fails(earlier, monkeypatch, moves):
    done, replace = [], os.replace

    def failing(source, target):
        if len(done) == moves:
            raise OSError(5, "Input/output error")
        done.append(replace(source, target))

    monkeypatch.setattr(_directory.os, "replace", failing)
    with pytest.raises(OSError), claimed(earlier, NAMES, force=True) as directory:
        put(directory, a="new a", b="new b")
        directory.publish()
    assert not any("old" in text for text in found(earlier).values())
    assert "SHA256SUMS" not in found(earlier)
    assert all(name in directory.contents() for name in NAMES)


def test_a_file_that_fails_is_not_left_in_part(tmp_path):
    def full(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with claimed(tmp_path / "out", NAMES, force=False) as directory:
        with pytest.raises(OSError):
            directory.add("a", full)
        assert directory.contents().startswith("nothing was written")
    assert not (tmp_path / "out").exists()


def test_a_directory_that_was_there_stays(tmp_path):
    (tmp_path / "out").mkdir()
    with claimed(tmp_path / "out", NAMES, force=False):
        pass
    assert not any((tmp_path / "out").iterdir())


def test_a_release_that_nobody_could_verify_is_refused_before_the_charge(
    fit, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr(_contents, "MOST_BYTES", 2000)
    result = fit("--ledger", ledger, "-k", 4)
    assert is_one_line_error(result)
    assert "or release fewer components" in result.err
    assert charges(ledger) == 0


def test_no_file_says_when_it_was_written_or_by_which_version(fit, tmp_path):
    assert fit(pictures=True).status == 0
    with zipfile.ZipFile(tmp_path / "out" / "components.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    pictures = re.findall('base64,([^"]*)', (tmp_path / "out" / "report.html").read_text())
    assert len(pictures) == 3
    for picture in map(b64decode, pictures):
        assert b"<metadata>" not in picture and b"Matplotlib" not in picture
