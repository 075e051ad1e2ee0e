"""Room on the disk for a release, which is asked for before the charge."""

import errno
import os

import numpy as np
import pytest

from skdppca import PrivacyLedger
from skdppca.report._directory import STRADDLING, Directory, writing

from .conftest import assert_refused

BLOCK = 4096


def blocks(size):
    return -(-size // BLOCK) * BLOCK


@pytest.fixture
def asked(monkeypatch):
    """What was asked for, in whole blocks."""
    found, reserve = [], Directory.reserve

    def remembered(self, sizes):
        sizes = list(sizes)
        found.append(sum(blocks(size + STRADDLING) for size in sizes))
        reserve(self, sizes)

    monkeypatch.setattr(Directory, "reserve", remembered)
    return found


LONG = "a" * 2000
FITS = {
    "plain": ((4, 2), 0),
    "a ledger with a picture": ((4, 2), 1),
    "many charges": ((4, 2), 60),
    "all components": ((45, 45), 2),
    "many features": ((300, 40), 2),
}


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "earlier"), FITS.values(), ids=FITS)
def test_it_is_enough_for_all_files(run, ledger, tmp_path, asked, budget, shape, earlier):
    (d, k), pictures = shape, earlier > 0
    table, out = tmp_path / "wide.csv", tmp_path / "out"
    names = ",".join(f"a feature with a name {i}" for i in range(d))
    rows = np.random.default_rng(0).standard_normal((2 * d + 100, d))
    np.savetxt(table, rows, delimiter=",", header=names, comments="", fmt="%.6g")
    account = PrivacyLedger(ledger)
    for i in range(earlier):
        account.charge_external(f"{i} {LONG}", mu=1e-3, adjacency="add-remove")
    (tmp_path / "words.toml").write_text(
        f'purpose = "{LONG}"\nfitted_before = {{answer = "no", text = "{LONG}"}}\n'
    )
    words = ("--title", "b" * 300, "--context", tmp_path / "words.toml")
    more = () if pictures else ("--no-pictures",)
    command = ("fit", table, *budget, "--out", out, "--ledger", ledger, "-k", k, *words, *more)
    assert run(*command).status == 0
    (room,) = asked
    taken = sum(blocks(path.stat().st_size) for path in out.iterdir())
    assert room >= taken


@pytest.fixture
def disk(monkeypatch):
    """A disk with `left` bytes left in whole blocks, by what is held on it at one time."""

    def of(left):
        def fallocate(_, __, size):
            nonlocal left
            left -= blocks(size)
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("os.posix_fallocate", fallocate, raising=False)

    return of


def test_a_disk_without_room_is_found_before_the_charge(fit, ledger, asked, disk, tmp_path):
    assert fit(pictures=True).status == 0
    taken = sum(blocks(path.stat().st_size) for path in (tmp_path / "out").iterdir())
    disk(taken)  # for the files, and for nothing beside them
    result = fit("--ledger", ledger, "--force", pictures=True)
    assert_refused(result, "No space left on device", "nothing was charged", ledger=ledger)


def test_room_is_held_until_the_first_file_is_written(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr("os.posix_fallocate", lambda file, *_: taken.append(file), raising=False)

    with writing(tmp_path / "out") as directory:
        directory.reserve([10, 5000])
        assert all(os.fstat(file) for file in taken[:2])
        with pytest.raises(OSError, match="descriptor"):
            directory.add("first", lambda _: os.fstat(taken[1]))
