"""A release directory is replaced as a whole: wherever a run is killed, one is left whole."""

import os
import shutil

import pytest

from skdppca.report import load, verify
from skdppca.report._contents import REPORT, SUMS
from skdppca.report._directory import writing

NAME = REPORT


class Killed(BaseException):
    """The end of a process, after which nothing of it runs."""


def write(directory, number):
    """A release of this number."""
    directory.add(NAME, lambda file: file.write(number.encode()))
    directory.publish()


def update(out, text):
    with writing(out, True) as directory:
        write(directory, text)


def read(folder):
    """The number of a whole release; None if there is none."""
    if not (folder / SUMS).is_file():
        return None
    return (folder / NAME).read_text()


@pytest.fixture
def out(tmp_path):
    with writing(tmp_path / "out") as directory:
        write(directory, "1")
    return tmp_path / "out"


def previous(out):
    return out.with_name("out.previous")


def names(out):
    return sorted(path.name for path in out.parent.iterdir())


def test_the_release_before_stays_beside_it(out):
    update(out, "2")
    update(out, "3")
    assert (read(out), read(previous(out))) == ("3", "2")
    assert names(out) == ["out", "out.previous"]
    assert sorted(path.name for path in out.iterdir()) == sorted([SUMS, NAME])


STEPS = {
    "before the hashes of the one before go": ("unlink", 0),
    "before the one before goes": ("rmtree", 0),
    "before this one becomes the one before": ("rename", 0),
    "between the two renames": ("rename", 1),
}


@pytest.mark.parametrize(("call", "number"), STEPS.values(), ids=STEPS)
def test_a_run_that_is_killed_leaves_both_releases_whole(out, monkeypatch, call, number):
    update(out, "2")
    calls = []

    def kill(original):
        def step(path, *more, **options):
            ours = str(path).startswith(str(out)) and (call != "unlink" or "previous" in str(path))
            calls.append(path) if ours else None
            if ours and len(calls) > number:
                raise Killed
            return original(path, *more, **options)

        return step

    with monkeypatch.context() as patch:
        home = {"unlink": type(out), "rmtree": shutil, "rename": os}[call]
        patch.setattr(home, call, kill(getattr(home, call)))
        with pytest.raises(Killed):
            update(out, "3")
    whole = [read(folder) for folder in (out, previous(out), out.with_name("out.next"))]
    assert "3" in whole  # it was paid for
    assert whole[0] == "2" or (whole[0] is None and whole[1] == "2")
    for again in (lambda: update(out, "4"), lambda: writing(out).__enter__()):
        with pytest.raises(ValueError, match="cut short, which was paid for; verify it"):
            again()
    assert [read(folder) for folder in (out, previous(out), out.with_name("out.next"))] == whole


def test_a_run_that_fails_leaves_the_release_as_it_was(out):
    with pytest.raises(KeyError), writing(out, True) as directory:
        directory.add(NAME, lambda file: file.write(b"half"))
        raise KeyError
    assert read(out) == "1" and not previous(out).exists()
    with pytest.raises(ValueError, match=r"from a run that was cut short, with report\.json in it"):
        update(out, "2")


def test_a_missing_directory_is_told_where_its_releases_are(out):
    update(out, "2")
    out.rename(out.with_name("out.next"))
    for reader in (verify, load):
        with pytest.raises(OSError, match=r"its releases are in .*out\.next and .*out\.previous"):
            reader(out)
    with pytest.raises(OSError, match="give a directory that"):
        verify(out.with_name("other"))


def test_two_runs_do_not_replace_it_at_once(out):
    with writing(out, True), pytest.raises(ValueError, match="another run of skdppca writes"):
        update(out, "2")


def test_what_is_no_release_is_not_removed(out):
    previous(out).mkdir()
    (previous(out) / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="move it away"):
        update(out, "2")
    assert (previous(out) / "thesis.txt").read_text() == "mine"
