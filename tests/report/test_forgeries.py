"""Forged reports fail at the level that can see it, in Python and on the command line."""

import copy
import hashlib
import io
import json
import os
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from skdppca import KDPPCA, DPGauss, PrivacyLedger, merge
from skdppca.cli import main
from skdppca.privacy import PrivacyReport, Released
from skdppca.privacy.fit_report import hash_of
from skdppca.report import ReleaseReport, verify
from skdppca.report._contents import archived, as_json, hashes_in, sums
from skdppca.report._document import findings_of
from skdppca.report._subject import rebuilt

from .conftest import document_of, sign


def failed(found):
    """The questions that are answered with no."""
    return sorted({finding.question for finding in found.findings})


def named(found):
    return {finding.what for finding in found.findings}


def status(out, *options):
    return main(["verify", str(out), *map(str, options)])


def edit(out, change):
    """Change what the report says, in the letters that skdppca writes."""
    document = document_of(out)
    change(document)
    (out / "report.json").write_text(as_json(document))


def setting(path, value):
    def change(document):
        place = document
        for key in path[:-1]:
            place = place[key]
        assert place[path[-1]] != value
        place[path[-1]] = value

    return change


def change(out, path, value):
    """Set one value of the report."""
    edit(out, setting(path, value))


def hashed_again(out):
    files = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in hashes_in(out)}
    (out / "SHA256SUMS").write_text(sums(files))


def forge(out, fit=None):
    """Make all that follows from the fit right again: hashes, results and figures."""
    document = document_of(out)
    old = document["fit"]
    core = old["core"] if fit is None else fit.core()
    report = PrivacyReport.from_dict(
        {"schema": old["schema"], "core": core, "release_id": "0", "releases": []}
    )
    own = report.to_dict()
    own["releases"] = [{**row, "release": own["release_id"]} for row in old["releases"]]
    with np.load(out / "components.npz") as archive:
        arrays = dict(archive)
    subject = rebuilt(report, arrays, arrays["feature_names"].tolist())
    document["fit"], document["results"] = own, findings_of(subject)
    (out / "report.json").write_text(as_json(document))
    hashed_again(out)


def test_a_true_release_passes_on_all_levels(copied, out, keys, capsys):
    sign(out / "SHA256SUMS", keys[0])
    ledger = copied / "ledger"
    head = PrivacyLedger(ledger).statement().chain.head()
    options = {"ledger": ledger, "head": f" {head.upper()}\n", "signer": f"{keys[0]}.pub"}
    found = verify(out, **options)
    assert found.agrees and found.asked == ("files", "ledger", "outside"), str(found)
    assert found.status == "open"
    assert status(out, *(f"--{name}={value}" for name, value in options.items())) == 1
    said = capsys.readouterr().out
    assert said == f"{found}\n"
    assert "2. Does the ledger agree? Yes. Not checked: who wrote the ledger.\n" in said
    assert "3. Does someone outside vouch? Yes. This ledger contains that head." in said
    assert "Not checked: who gave you the head or the key." in said
    assert "No check can tell whether the noise was drawn as stated" in said
    assert "valid" not in said


FIT = ("fit", "core")

# What is derived is computed again.
DERIVED = {
    "share": (("results", "components", 0, "share"), "files", "results"),
    "range": (("results", "components", 0, "range", 0), "files", "results"),
    "entry": (("results", "components", 0, "largest", 0, "entry"), "files", "results"),
    "records": (("results", "n_records"), "files", "results"),
    "spent": (("ledger", "spent"), "ledger", "totals"),
    "left": (("ledger", "remaining"), "ledger", "totals"),
    "charge": (("ledger", "charges", 0, "epsilon"), "ledger", "totals"),
}


@pytest.mark.parametrize("name", DERIVED)
def test_figures_that_do_not_follow_are_found(copied, out, name):
    path, question, what = DERIVED[name]
    change(out, path, 0.5)
    hashed_again(out)
    found = verify(out, ledger=copied / "ledger")
    assert (failed(found), named(found)) == ([question], {what})


def in_text(change):
    return lambda content: change(content.decode()).encode()


def in_document(change):
    def changed(content):
        document = json.loads(content)
        change(document)
        return as_json(document).encode()

    return changed


def turned(*path):
    """The names of a mapping in another order."""

    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = dict(reversed(document[path[-1]].items()))

    return in_document(change)


def saved_again(change, save=np.savez):
    """Other arrays, as numpy writes them."""

    def changed(content):
        with np.load(io.BytesIO(content)) as archive:
            arrays = dict(archive)
        save(buffer := io.BytesIO(), **change(arrays))
        return buffer.getvalue()

    return changed


def with_member(name):
    def change(content):
        with zipfile.ZipFile(buffer := io.BytesIO(content), "a") as archive:
            archive.writestr(name, b"patient 1")
        return buffer.getvalue()

    return change


def with_twin(content):
    """An archive in which numpy finds an array, and other readers find another."""
    with zipfile.ZipFile(buffer := io.BytesIO(content)) as archive:
        mean = archive.read("mean.npy")
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("mean", mean)
    return buffer.getvalue()


def with_more_in_a_member(content):
    """Bytes behind an array, in its own member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, one in members.items():
            archive.writestr(name, one + b"patient 1" * (name == "mean.npy"))
    return buffer.getvalue()


def named_by(names):
    return saved_again(lambda arrays: arrays | {"feature_names": names})


LARGE = 2**28


def lying(content):
    """An archive whose directory says that it is small, and that unpacks to more."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mean.npy", bytes(LARGE))
    size = LARGE.to_bytes(4, "little")
    return buffer.getvalue().replace(size, (200).to_bytes(4, "little"))


def pickled(arrays):
    return arrays | {"mean": np.array([object], dtype=object)}


FOUND = ("results", "components", 0)
# What is found whatever the list of hashes says.
CHANGED = {
    "components.npz": {
        "number": saved_again(lambda arrays: arrays | {"mean": arrays["mean"] + 1e-9}),
        "type": saved_again(lambda arrays: arrays | {"mean": arrays["mean"].astype("f4")}),
        "array less": saved_again(lambda arrays: {"mean": arrays["mean"]}),
        "array more": saved_again(lambda arrays: arrays | {"scores": np.ones(3)}),
        "names": saved_again(lambda arrays: arrays | {"feature_names": np.array(list("abcd"))}),
        "names that are none": saved_again(lambda arrays: arrays | {"feature_names": np.eye(2)}),
        "pickle": saved_again(pickled),
        "bomb": saved_again(
            lambda arrays: arrays | {"mean": np.zeros(LARGE // 8)}, np.savez_compressed
        ),
        "lie": lying,
        "member": with_member("patients.txt"),
        "member twice": with_member("mean.npy"),
        "twin": with_twin,
        "more in a member": with_more_in_a_member,
        "a number as names": named_by(np.array(3)),
        "names without letters": named_by(np.zeros(9, dtype="U0")),
        "names of no letters": named_by(np.full(4, 2**31 - 1, dtype="u4").view("U1")),
        "no archive": lambda content: b"PK\3\4" + bytes(40),
        "array alone": lambda content: b"\x93NUMPY" + content,
        "empty": lambda content: b"",
        "cut": lambda content: content[: len(content) // 2],
    },
    "components.csv": {
        "number": in_text(lambda text: re.sub(r"(\d)\n", lambda m: f"{9 - int(m[1])}\n", text)),
        "head": in_text(lambda text: text.replace("feature", "feature x", 1)),
        "spaces": in_text(lambda text: re.sub(r",(\d)", r",  \1", text)),
        "quotes": in_text(lambda text: text.replace("age", '"age"', 1)),
        "line ends": in_text(lambda text: text.replace("\n", "\r\n")),
        "blank line": in_text(lambda text: text + "\n"),
        "empty": lambda content: b"",
    },
    "report.json": {
        "spaces": in_text(lambda text: text.replace(": ", ": \t", 1)),
        "behind": in_text(lambda text: text + "\n"),
        "escapes": in_text(lambda text: text.replace('"schema"', '"\\u0073chema"', 1)),
        "digits": in_text(lambda text: text.replace('"epsilon": 1.0', '"epsilon": 1.00', 1)),
        "key twice": in_text(lambda text: text.replace('"title"', '"title": "x", "title"', 1)),
        "unknown key": in_document(lambda one: one["fit"].update(seconds=3.0)),
        "unknown key of the core": in_document(lambda one: one["fit"]["core"].update(more=1)),
        "missing key": in_document(lambda one: one.pop("steps")),
        "not a number": in_text(lambda text: text.replace('"delta": 1e-06', '"delta": NaN', 1)),
        "infinity": in_text(lambda text: text.replace('"delta": 1e-06', '"delta": Infinity', 1)),
        "too large": in_text(lambda text: text.replace('"delta": 1e-06', '"delta": 1e999', 1)),
        "deep": lambda content: b"[" * 10**5,
        "empty": lambda content: b"",
        "list": lambda content: b"[]\n",
        "no letters": lambda content: b"\xff\0" + content,
        "order": in_text(lambda text: as_json(dict(reversed(json.loads(text).items())))),
        "order of a fit": turned("fit"),
        "order of the results": turned(*FOUND),
        "order of the context": turned("context"),
        "order of the account": turned("ledger"),
        "type": in_document(lambda one: one["results"].update(n_features=4.0)),
        "row": in_document(lambda one: one["ledger"].update(rows=3.0)),
        "title": in_document(lambda one: one.update(title=3)),
        "long title": in_document(lambda one: one.update(title="Private. " * 1000)),
        "schema": in_document(lambda one: one.update(schema="skdppca-report/9")),
        "head": in_document(lambda one: one["fit"]["releases"][0].update(head="Jane Doe")),
        "nonce": in_document(lambda one: one["fit"]["core"]["receipts"][0].update(nonce="Jane")),
        "sites": in_document(lambda one: one["fit"]["core"]["details"].update(sites=5)),
        "charged": in_document(lambda one: one["fit"]["core"]["details"].update(charged=3)),
        "present": in_document(lambda one: one["fit"]["core"]["details"].update(present=[])),
        "shape": in_document(setting((*FIT, "released", 0, "shape"), [2**20, 2**20])),
        "digits of a shape": in_document(setting((*FIT, "released", 0, "shape"), [10**30])),
        "array of bytes": in_document(setting((*FIT, "released", 0, "dtype"), "V1000000000")),
        "no fit": in_document(lambda one: one["fit"].clear()),
        "no results": in_document(lambda one: one.update(results=None)),
    },
}


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name, hows in CHANGED.items() for how in hows]
)
def test_a_changed_file_is_found_whatever_its_hash(copied, out, name, how):
    content = (out / name).read_bytes()
    changed = CHANGED[name][how](content)
    assert changed != content
    (out / name).write_bytes(changed)
    found = verify(out, ledger=copied / "ledger")
    assert f"{name} was changed" in {finding.says for finding in found.findings}
    hashed_again(out)
    found = verify(out, ledger=copied / "ledger")
    assert not found.agrees and str(found)
    assert status(out) == 1 and main(["report", str(out)]) == 1


@pytest.mark.parametrize("name", ["report.json", "components.npz", "components.csv", "report.html"])
def test_every_changed_byte_is_found(out, name):
    content = (out / name).read_bytes()
    for place in np.random.default_rng(0).integers(len(content), size=12):
        changed = bytearray(content)
        changed[place] ^= 1 << int(place) % 8
        (out / name).write_bytes(changed)
        assert f"{name} was changed" in {one.says for one in verify(out).findings}


def sums_without(name):
    def change(out):
        (out / "SHA256SUMS").write_text(
            sums({one: sha for one, sha in hashes_in(out).items() if one != name})
        )

    return change


def extra(name, listed=False):
    def change(out):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("1,2")
        if listed:
            more = {name: hashlib.sha256(b"1,2").hexdigest()}
            (out / "SHA256SUMS").write_text(sums(hashes_in(out) | more))

    return change


def text_of_sums(change):
    def changed(out):
        (out / "SHA256SUMS").write_text(change((out / "SHA256SUMS").read_text()))

    return changed


NOT_PART = "is not part of the release: remove it"
NO_LIST = "SHA256SUMS is missing, or is not as skdppca writes it"
FOLDER = {
    "no page": (lambda out: (out / "report.html").unlink(), "report.html is missing"),
    "no table": (lambda out: (out / "components.csv").unlink(), "components.csv is missing"),
    "no archive": (lambda out: (out / "components.npz").unlink(), "components.npz is missing"),
    "no hashes": (lambda out: (out / "SHA256SUMS").unlink(), NO_LIST),
    "page not listed": (sums_without("report.html"), "does not list report.html"),
    "report not listed": (sums_without("report.json"), "does not list report.json"),
    "hash": (text_of_sums(lambda text: text[1:]), NO_LIST),
    "garbage": (text_of_sums(lambda text: "PK\3\4" + text), NO_LIST),
    "path": (text_of_sums(lambda text: text + "0" * 64 + "  ../ledger\n"), NO_LIST),
    "name twice": (text_of_sums(lambda text: text + text.splitlines()[0] + "\n"), NO_LIST),
    "long": (text_of_sums(lambda text: text * 200), NO_LIST),
    "listed data": (extra("data.csv", listed=True), "lists data.csv, which is not part"),
    "listed release": (extra("components2.csv", listed=True), "lists components2.csv, which is"),
    "scores": (extra("scores.csv"), f"scores.csv {NOT_PART}"),
    "hidden": (extra(".hidden"), f".hidden {NOT_PART}"),
    "folder": (extra("more/page.html"), f"more {NOT_PART}"),
}


@pytest.mark.parametrize("how", FOLDER)
def test_what_lies_in_the_folder_is_what_is_listed(out, how):
    make, says = FOLDER[how]
    make(out)
    found = verify(out)
    assert failed(found) == ["files"] and says in str(found)
    assert status(out) == 1


@pytest.mark.parametrize("name", ["report.html", "components.npz", "SHA256SUMS", "report.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_never_read(out, name, kind):
    (out / name).rename(out.parent / name)
    make = {"pipe": os.mkfifo, "link": lambda to: to.symlink_to(out.parent / name)}
    make.get(kind, os.mkdir)(out / name)
    found = verify(out)
    assert failed(found) == ["files"] and f"{name} is a link, a pipe or a folder" in str(found)
    assert verify(out, signer="a.pub").asked == ("files",)  # nothing else is checked


def test_a_pipe_or_a_huge_file_in_place_of_a_key_is_refused(out):
    path = out.parent / "key.pub"
    os.mkfifo(path)
    with pytest.raises(OSError, match="is no file"):
        verify(out, signer=path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(2**28)
    with pytest.raises(ValueError, match="larger than"):
        verify(out, signer=path)


def test_a_huge_report_is_not_read(out):
    with (out / "report.json").open("r+b") as file:
        file.truncate(2**28)
    found = verify(out)
    assert failed(found) == ["files"] and "larger than" in str(found)


@pytest.mark.parametrize(
    "details",
    [{"sites": ["a", "b"]}, {"charged": 1}, {"best_params": 1, "present": True}, {"present": True}],
    ids=str,
)
def test_details_that_no_page_can_print_are_a_finding(out, capsys, details):
    """The report of a fit that no ledger has, with all hashes made again."""
    document = document_of(out)
    document["fit"]["core"]["details"] |= details
    core = document["fit"]["core"] | {"receipts": []}
    report = PrivacyReport.from_dict(
        {"schema": document["fit"]["schema"], "core": core, "release_id": "0", "releases": []}
    )
    document |= {"fit": report.to_dict(), "ledger": None}
    (out / "report.json").write_text(as_json(document))
    hashed_again(out)
    assert "values that cannot be checked" in str(verify(out))
    assert main(["report", str(out)]) == 1 and "Traceback" not in capsys.readouterr().err


def test_a_number_of_a_type_with_unused_bytes_is_refused(out):
    arrays = dict(np.load(out / "components.npz"))
    arrays["n_samples"] = np.longdouble(arrays["n_samples"])
    np.savez(out / "components.npz", **arrays)
    hashed_again(out)
    assert not verify(out).agrees


@pytest.mark.parametrize("path", [["fit", "core", "event"]])
def test_an_event_that_cannot_be_priced_here_is_a_finding(out, monkeypatch, path):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    events = [{"type": "gaussian", "mu": 0.1}, {"type": "pure", "epsilon": 0.123}]
    change(out, path, {"type": "composed", "events": events})
    assert not verify(out).agrees


def test_what_no_release_holds_is_refused():
    archived([Released("components", (16_000, 16_000), "float64", "")])
    with pytest.raises(ValueError, match=r"more than 2 GiB.*keep_matrix=False"):
        archived([Released("matrix_scatter", (17_000, 17_000), "float64", "")])
    with pytest.raises(ValueError, match="more than 2 GiB"):
        archived([], ["a"] * 2**20 + ["a" * 2**10])


def test_a_page_with_other_words_is_another_file(out):
    page = out / "report.html"
    page.write_text(page.read_text().replace("Clinic", "Ministry"))
    assert named(verify(out)) == {"files"}
    hashed_again(out)  # who writes the hashes, too, is found by a signature, or by a new page
    found = verify(out)
    assert found.agrees and "Only the hashes in SHA256SUMS confirm report.html, the" in str(found)


# A release and its ledger.


def test_a_report_made_up_for_a_real_charge_is_found_by_the_ledger(copied, out, made):
    with np.load(out / "components.npz") as archive:
        arrays = dict(archive)
    arrays["components"] = arrays["components"][::-1].copy()
    np.savez(out / "components.npz", **arrays)
    lines = [line.split(",") for line in (out / "components.csv").read_text().splitlines()]
    swapped = [",".join([*row[:2], row[3], row[2]]) for row in lines[1:]]
    (out / "components.csv").write_text("\n".join([",".join(lines[0]), *swapped]) + "\n")
    true = made.pca.privacy_
    other = Released.of("components", arrays["components"])
    forge(out, replace(true, released=(other, *true.released[1:])))
    assert verify(out).agrees
    found = verify(out, ledger=copied / "ledger")
    assert failed(found) == ["ledger"]
    assert "records another release for this charge" in str(found)
    assert status(out, "--ledger", copied / "ledger") == 1


def test_a_second_release_on_one_charge_is_found_by_the_ledger(copied, made, frame, tmp_path):
    second = DPGauss(2).fit(frame)
    true = made.pca.privacy_
    second.privacy_ = replace(second.privacy_, receipts=true.receipts)
    row = structs.replace(true.releases[0], release=second.privacy_.release_id)
    second.privacy_ = replace(second.privacy_, releases=(row,))
    ReleaseReport(second, pictures=False).write(tmp_path / "second")
    assert verify(tmp_path / "second").agrees
    assert failed(verify(tmp_path / "second", ledger=copied / "ledger")) == ["ledger"]


def test_a_charged_release_states_totals_from_after_it(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    document = document_of(out)
    document["ledger"] |= {"rows": 1, "head": ledger.statement().chain.head(1)}
    (out / "report.json").write_text(as_json(document))
    hashed_again(out)
    assert "but its release is in row 3" in str(verify(out, ledger=ledger))
    change(out, ("ledger",), None)
    hashed_again(out)
    found = verify(out, ledger=ledger)
    assert (failed(found), named(found)) == (["ledger"], {"totals"})
    assert "it does not state the totals of the ledger" in str(found)


def test_later_charges_are_no_difference(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    ledger.charge_external("more counts", mu=0.1, adjacency="add-remove")
    assert verify(out, ledger=ledger).agrees


# Someone outside.


def test_a_ledger_rewritten_by_its_owner_is_found_from_outside_alone(
    copied, out, made, frame, keys
):
    signature = sign(out / "SHA256SUMS", keys[0])
    kept = PrivacyLedger(copied / "ledger").statement().chain.head()
    # the owner writes the account anew, without the charge for the counts, and a report for it
    (copied / "ledger").unlink()
    ledger = PrivacyLedger.create(copied / "ledger", 3.0, 1e-6)
    ReleaseReport(DPGauss(2, accountant=ledger).fit(frame), pictures=False).write(out, force=True)
    (out / "SHA256SUMS.sig").write_bytes(signature)
    assert verify(out, ledger=ledger).agrees
    for outside in ({"head": kept}, {"signer": f"{keys[0]}.pub"}):
        found = verify(out, ledger=ledger, **outside)
        assert failed(found) == ["outside"]
        options = [f"--{name}={value}" for name, value in outside.items()]
        assert status(out, "--ledger", copied / "ledger", *options) == 1


def test_a_head_from_before_the_release_vouches_for_nothing(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    chain = ledger.statement().chain
    found = [verify(out, ledger=ledger, head=chain.head(row)) for row in range(4)]
    assert [one.agrees for one in found] == [False, False, False, True]
    assert "before the release in row 3" in str(found[2])


SIGNED = {
    "nothing": (lambda out, keys: None, "are not signed; sign with ssh-keygen -Y sign"),
    "another key": (lambda out, keys: sign(out / "SHA256SUMS", keys[1]), "no signature by this"),
    "another purpose": (
        lambda out, keys: sign(out / "SHA256SUMS", keys[0], "file"),
        "no signature by this key for skdppca",
    ),
    "no signature": (
        lambda out, keys: (out / "SHA256SUMS.sig").write_text("Jane Doe"),
        "no signature by this",
    ),
}


@pytest.mark.parametrize("how", SIGNED)
def test_what_is_not_signed_by_this_key_is_found_from_outside(out, keys, how):
    sign_with, says = SIGNED[how]
    sign_with(out, keys)
    found = verify(out, signer=f"{keys[0]}.pub")
    assert (failed(found), named(found)) == (["outside"], {"signature"}) and says in str(found)
    assert status(out, "--signer", f"{keys[0]}.pub") == 1


def test_a_signature_of_other_hashes_is_found_from_outside(out, keys):
    sign(out / "SHA256SUMS", keys[0])
    (out / "report.html").write_text("{}")
    hashed_again(out)
    assert failed(verify(out, signer=f"{keys[0]}.pub")) == ["outside"]


def test_a_signature_that_nobody_checked_is_told(out, keys):
    assert "SHA256SUMS.sig" not in str(verify(out))
    sign(out / "SHA256SUMS", keys[0])
    says = "SHA256SUMS.sig was not checked. To check it, give --signer KEY."
    assert says in verify(out).notes["files"]
    assert says not in str(verify(out, signer=f"{keys[0]}.pub"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"head": "0" * 64}, "pass ledger="),
        ({"head": "0", "ledger": "ledger"}, "64 digits"),
        ({"signer": "ledger"}, "no SSH public key"),
    ],
)
def test_what_cannot_vouch_is_refused(copied, monkeypatch, options, says):
    monkeypatch.chdir(copied)
    with pytest.raises(ValueError, match=says):
        verify("out", **options)
    assert status("out", *(f"--{name}={value}" for name, value in options.items())) == 2


def test_a_private_key_is_never_taken(out, keys):
    with pytest.raises(ValueError, match="never the private key"):
        verify(out, signer=keys[0])


def test_without_ssh_keygen_the_error_says_what_to_install(out, keys, monkeypatch):
    sign(out / "SHA256SUMS", keys[0])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="install OpenSSH"):
        verify(out, signer=f"{keys[0]}.pub")


def test_a_head_is_told_to_vouch_for_no_words_of_the_curator(copied, out, frame, tmp_path):
    ledger = PrivacyLedger(copied / "ledger")
    note = verify(out, ledger=ledger, head=ledger.statement().chain.head()).notes["outside"]
    assert "A head does not cover the title, the steps of a Pipeline, the shape" in note
    pca = DPGauss(2, epsilon=0.5, accountant=ledger).fit(frame.to_numpy())
    ReleaseReport(pca, feature_names=list(frame.columns), pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out", ledger=ledger, head=ledger.statement().chain.head())
    assert (
        found.agrees and "what was declared, the features' names. A sig" in found.notes["outside"]
    )


# Reports that are made up.


def test_a_fit_that_was_tampered_with_is_found(made, tmp_path):
    forged = DPGauss(2, accountant=made.ledger)
    vars(forged).update(vars(made.pca))
    forged.privacy_ = copy.copy(made.pca.privacy_)
    object.__setattr__(forged.privacy_, "epsilon", 0.01)
    ReleaseReport(forged, pictures=False).write(tmp_path / "forged")
    assert "price: it states epsilon=0.01" in str(verify(tmp_path / "forged"))


def rehashed(out, change_core):
    """Change what a fit says of itself, and make its hash again."""
    document = document_of(out)
    fit = document["fit"]
    change_core(fit["core"])
    fit["release_id"] = fit["releases"][0]["release"] = hash_of(fit["core"])
    (out / "report.json").write_text(as_json(document))
    hashed_again(out)


@pytest.mark.parametrize("mu", [1e308, "inf"])
def test_queries_that_cost_more_than_a_number_holds_end_no_check(out, mu):
    rehashed(out, lambda core: core["spendings"][0].update(mu=mu))
    found = verify(out)
    assert "files" in failed(found) and "its questions cost mu=" in str(found)
    assert status(out) == 1
    assert main(["report", str(out)]) == 1


ODD_DETAILS = {
    "sites": 5,
    "honest_sites": "x",
    "max_sites_per_person": 10**400,
    "joined": [{"epsilon": 10**400}],
}


@pytest.mark.parametrize(("name", "value"), ODD_DETAILS.items(), ids=ODD_DETAILS)
def test_details_that_no_fit_has_are_a_finding_and_no_error(copied, out, name, value):
    rehashed(out, lambda core: core["details"].update({name: value}))
    for given in ((), [copied / "ledger"]):
        found = verify(out, ledger=given)
        assert str(found) and (found.status != "private")


def test_a_report_that_quotes_our_words_is_still_no_report(out):
    text = (out / "report.json").read_text()
    said = "x" * 300 + "no ledger was charged for this release"
    (out / "report.json").write_text(text.replace('"schema"', f'"{said}"', 1))
    hashed_again(out)
    assert verify(out).status == "differs" and "status: differs" in str(verify(out))


def test_an_event_of_very_many_parts_is_refused_before_it_is_priced(out):
    parts = [{"type": "pure", "epsilon": 1e-6 * i} for i in range(1, 102)]
    rehashed(out, lambda core: core.update(event={"type": "composed", "events": parts}))
    assert "its event has more than 100 parts" in str(verify(out))


def test_a_long_title_with_white_space_around_it_passes(made, tmp_path):
    title = "x" * 300
    ReleaseReport(made.pca, title=f" {title}\n", pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.agrees and found.document["title"] == title


def test_a_unit_of_another_direction_does_not_reach_the_page(made, out):
    def turn(document):
        unit = "row\u202e 10.0 nolispe"
        document["fit"]["core"]["guarantee"]["unit"] = unit

    from skdppca.report._results import page

    document = made.report.dict()
    turn(document)
    text = page(document, [])
    assert "\u202e" not in text and r"row\u202e" in text
    edit(out, turn)
    assert "\u202e" not in str(verify(out))


@pytest.fixture
def merged(made, frame, tmp_path):
    """Two releases of different people in one, and the ledgers that they were charged to."""
    ledgers = [PrivacyLedger.create(tmp_path / f"{i}.ledger", 3.0, 1e-6) for i in range(2)]
    fits = [DPGauss(2, accountant=one).fit(frame[i::2]) for i, one in enumerate(ledgers)]
    ReleaseReport(merge(fits, disjoint=True), pictures=False).write(tmp_path / "merged")
    return SimpleNamespace(out=tmp_path / "merged", ledgers=ledgers)


@pytest.mark.parametrize("place", ["details", "parameters"])
def test_a_null_under_a_name_of_their_own_is_no_part_of_a_merged_release(merged, place):
    assert verify(merged.out, ledger=merged.ledgers).agrees
    fit = PrivacyReport.from_dict(document_of(merged.out)["fit"])
    forge(merged.out, replace(fit, **{place: {**getattr(fit, place), "1.5, 2.5, 3.5": None}}))
    assert failed(verify(merged.out, ledger=merged.ledgers)) == ["files"]


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_packed_archive_is_not_unpacked(out, how):
    with zipfile.ZipFile(out / "components.npz") as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(out / "components.npz", "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    hashed_again(out)
    assert "is no archive that holds arrays of a fit only" in str(verify(out))


@pytest.mark.parametrize("last", ["the ledger", "its copy"])
def test_two_ledgers_of_one_account_must_be_alike(copied, out, last):
    ledger, copied_ledger = copied / "ledger", copied / "other"
    shutil.copy(ledger, copied_ledger)
    both = [ledger, copied_ledger][:: 1 if last == "its copy" else -1]
    assert verify(out, ledger=both).agrees
    PrivacyLedger(copied_ledger).charge_external("more", mu=0.1, adjacency="add-remove")
    found = verify(out, ledger=both)
    assert failed(found) == ["ledger"] and "differ; give it once" in str(found)


def test_the_head_of_a_ledger_that_was_not_charged_vouches_for_nothing(copied, out, tmp_path):
    other = PrivacyLedger.create(tmp_path / "other", 1.0, 1e-6)
    head = other.statement().chain.head()
    found = verify(out, ledger=[copied / "ledger", other], head=head)
    assert failed(found) == ["outside"]
    assert "a ledger that records nothing of this release" in str(found)


def test_a_head_of_one_of_two_ledgers_does_not_cover_the_other(merged):
    head = merged.ledgers[0].statement().chain.head()
    found = verify(merged.out, ledger=merged.ledgers, head=head)
    other = merged.ledgers[1].statement().chain.terms.accountant[:16]
    assert found.agrees and f"It does not cover the charges to {other}." in str(found)


def test_a_grown_release_is_charged_only_if_all_of_its_fits_are(frame, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 3.0, 1e-6)
    pca = DPGauss(2).partial_fit(frame[:1500]).partial_fit(frame[1500:], accountant=ledger)
    ReleaseReport(pca, pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out", ledger=ledger)
    assert found.status == "uncharged" and "and charged to" not in str(found)


def test_a_merged_release_without_variances_verifies_and_names_no_path(frame, tmp_path):
    fits = [KDPPCA(2, variance_share=0).fit(frame[i::2]) for i in range(2)]
    for i, pca in enumerate(fits):
        ReleaseReport(pca, pictures=False).write(tmp_path / f"part{i}")
    both = merge([tmp_path / "part0", tmp_path / "part1"], disjoint=True)
    ReleaseReport(both, pictures=False).write(tmp_path / "both")
    assert verify(tmp_path / "both").agrees
    assert str(tmp_path) not in (tmp_path / "both" / "report.json").read_text()
