"""Files that others wrote: what is no plain file is not read, and none beyond what it can hold."""

import errno
import io
import os
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from skdppca import DPGauss
from skdppca.privacy import Released
from skdppca.report import Context, ReleaseReport, declare, verify
from skdppca.report import _release as release_module
from skdppca.report import _sizes as sizes_module
from skdppca.report._plain import is_plain, read_plain
from skdppca.report._sizes import MOST_BYTES, archived, most_bytes

from .conftest import document_of
from .test_forgeries import change, failed, forge, manifest_again, named

# Each draws pictures or writes long files; `tests/cli/test_verify.py` has quick forgeries.
pytestmark = pytest.mark.slow

# What a file claims here, and what reading it may take. A release of these tests has 100 kB.
CLAIMED, ENOUGH = 2**28, 2**25


def claim(path, size=CLAIMED):
    """A file with holes: it is as large as it says, and takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(size)


def peak(function, *arguments, **options):
    """What a call returns, and the most memory that it took."""
    tracemalloc.start()
    try:
        found = function(*arguments, **options)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ODD = {"pipe": os.mkfifo, "folder": os.mkdir, "link": lambda path: path.symlink_to("plain")}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_plain_file_is_not_read(tmp_path, kind):
    (tmp_path / "plain").write_bytes(b"text")
    assert read_plain(tmp_path / "plain", 4) == b"text" and is_plain(tmp_path / "plain")
    ODD[kind](tmp_path / "odd")
    assert not is_plain(tmp_path / "odd")
    with pytest.raises(OSError) as refused:
        read_plain(tmp_path / "odd", 4)
    assert refused.value.strerror == "it is no file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/stdin"])
def test_a_device_is_not_read(device, tmp_path):
    (tmp_path / "link").symlink_to(device)
    with pytest.raises(OSError):
        read_plain(tmp_path / "link", 4, links=True)


def test_a_link_is_followed_where_a_user_names_it(tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    assert read_plain(tmp_path / "link", 4, links=True) == b"text"


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    opened = os.open

    def swapped(path, *arguments):
        path.unlink()
        os.mkfifo(path)
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(OSError, match="it is no file"):
        read_plain(tmp_path / "file", 4)


def test_a_larger_file_is_not_read(tmp_path):
    claim(tmp_path / "file")
    with pytest.raises(OSError) as refused:
        read_plain(tmp_path / "file", 4)
    assert refused.value.errno == errno.EFBIG and "larger than 4 bytes" in str(refused.value)
    assert peak(lambda: failing(tmp_path / "file"))[1] < ENOUGH


def failing(path):
    with pytest.raises(OSError):
        read_plain(path, CLAIMED - 1)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    before = os.stat(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"longer text")
    monkeypatch.setattr(os, "fstat", lambda handle: before)
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_plain(tmp_path / "file", 4)


def bomb(path):
    """An archive that unpacks to a thousand times its size."""
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["mean"] = np.zeros(CLAIMED // 8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


def lying_bomb(path):
    """One whose directory says that it is small, and unpacks to more."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mean.npy", bytes(CLAIMED))
    size = CLAIMED.to_bytes(4, "little")
    assert content.getvalue().count(size) >= 2
    path.write_bytes(content.getvalue().replace(size, (200).to_bytes(4, "little")))


@pytest.mark.parametrize("bombed", [bomb, lying_bomb])
def test_an_archive_is_never_unpacked_beyond_its_size(out, bombed):
    bombed(out / "components.npz")
    manifest_again(out)
    found, memory = peak(verify, out)
    assert failed(found) == [2] and memory < ENOUGH
    assert "components.npz is missing, or is not an archive that holds arrays only" in str(found)


NAMES = ["components.npz", "components.csv", "scree.svg", "report.html"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_beyond_what_the_report_declares_is_not_read(out, name):
    claim(out / name)
    found, memory = peak(verify, out)
    assert failed(found) == [2] and memory < ENOUGH
    table = name == "components.csv"  # whose every byte is known
    said = "was changed, or cannot be read" if table else "cannot be read, or is larger than"
    assert f"{name} {said}" in str(found)


@pytest.mark.parametrize("name", ["MANIFEST.json", "MANIFEST.json.sig"])
def test_no_manifest_and_no_signature_is_read_beyond_its_size(out, name):
    claim(out / name)
    found, memory = peak(verify, out)
    assert failed(found) == [2] and memory < ENOUGH


def test_no_report_and_no_key_is_read_beyond_its_size(out, tmp_path):
    claim(tmp_path / "key.pub")
    with pytest.raises(OSError, match="larger than 65536 bytes"):
        verify(out, signer=tmp_path / "key.pub")
    claim(out / "report.json")
    with pytest.raises(OSError, match="larger than 134217728 bytes"):
        verify(out)


def test_a_file_that_grew_after_it_was_verified_is_not_copied(out, tmp_path, monkeypatch):
    from skdppca.report import _declare

    def then_grown(folder):
        found = verify(folder)
        claim(out / "scree.svg")
        return found

    monkeypatch.setattr(_declare, "verify", then_grown)
    with pytest.raises(OSError, match="larger than"):
        declare(out, tmp_path / "second", context=Context(region="Anytown"))


ABSURD = {
    "shape": ("shape", [2**20, 2**20]),
    "very many digits": ("shape", [10**30]),
    "dtype": ("dtype", "V1000000000"),
    "text": ("dtype", "str99999999"),
}


@pytest.mark.parametrize("how", ABSURD)
def test_a_report_that_declares_what_no_release_holds_is_refused(out, how):
    name, value = ABSURD[how]
    change(out, ("fits", 0, "core", "released", 0, name), value)
    found = verify(out)
    assert 1 in failed(found) and "schema" in named(found) and found.reports == ()


def test_a_report_cannot_make_room_for_more_arrays(out, made):
    """A forger declares a larger array; the file must have it, and the ledger does not."""
    true = made.pca.privacy_
    other = Released.of("mean", np.zeros(10**6))
    forge(out, replace(true, released=(true.released[0], other, *true.released[2:])))
    assert failed(verify(out)) == [2]


def test_files_of_a_release_are_smaller_than_what_is_allowed(made):
    document = made.report.dict()
    reports = [made.pca.privacy_]
    length = len(made.report.json())
    allowed = most_bytes(document, reports, length)
    folder = made.folder / "out"
    assert {*allowed} == {path.name for path in folder.iterdir()} - {"MANIFEST.json", "SHA256SUMS"}
    for name, most in allowed.items():
        assert (folder / name).stat().st_size <= most < 2**24


@pytest.mark.parametrize("names", [None, ["é" * 200 + str(i) for i in range(40)]])
def test_wide_releases_verify(names, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 40))
    report = ReleaseReport(DPGauss(30, epsilon=50.0).fit(X), feature_names=names)
    report.write(tmp_path / "out")
    assert verify(tmp_path / "out").passed


def test_arrays_that_nobody_could_verify_are_not_written(made, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes_module, "MOST_BYTES", 100)
    assert release_module.archived is archived
    with pytest.raises(ValueError, match=r"GiB, and no release holds more; .* release fewer comp"):
        made.report.write(tmp_path / "out")


def test_no_array_is_declared_larger_than_a_release():
    assert archived([Released("components", (16_000, 16_000), "float64", "")]) <= MOST_BYTES
    with pytest.raises(ValueError, match="more than 2 GiB"):
        archived([Released("components", (17_000, 17_000), "float64", "")])
    with pytest.raises(ValueError, match="more than 2 GiB"):
        archived([], ["a"] * 2**20 + ["a" * 2**10])


@pytest.mark.parametrize("count", [7, 7.0, 1e300])
def test_a_number_of_charges_makes_room_for_no_picture_without_end(out, count):
    document = document_of(out)
    document["ledger"]["n_charges"] = count
    assert all(most <= 2**30 for most in most_bytes(document, [], 10**4).values())
