"""Forged reports fail at the level that can see it, in Python and on the command line."""

import copy
import hashlib
import io
import json
import os
import re
import struct
import sys
import zipfile
from base64 import b64decode, b64encode
from dataclasses import replace
from io import BytesIO
from zlib import compress, crc32

import numpy as np
import pytest
from PIL import Image

from skdppca import DPGauss, PrivacyLedger
from skdppca.cli import main
from skdppca.privacy import PrivacyReport, Released, verify_report
from skdppca.privacy.fit_report import hash_of
from skdppca.report import ReleaseReport, verify
from skdppca.report._contents import as_json
from skdppca.report._directory import manifest, sums
from skdppca.report._document import reports_of
from skdppca.report._facts import findings_of, guarantee
from skdppca.report._page import page
from skdppca.report._pictures import draw, of_the_ledger
from skdppca.report._png import repacked
from skdppca.report._subject import rebuilt
from skdppca.report._svg import alike, wrong_svg

from .conftest import document_of, sign

# Each draws pictures or writes long files; `tests/cli/test_verify.py` has quick forgeries.
pytestmark = pytest.mark.slow


def failed(found):
    """The levels at which something differs."""
    return sorted({finding.level for finding in found.findings if not finding.passed})


def named(found):
    return {finding.what for finding in found.findings if not finding.passed}


def status(out, *options):
    return main(["verify", str(out), *map(str, options)])


def change(out, path, value):
    """Set one value of the report."""
    document = document_of(out)
    place = document
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != value
    place[path[-1]] = value
    (out / "report.json").write_text(as_json(document))


def manifest_again(out):
    names = json.loads((out / "MANIFEST.json").read_text())["files"]
    files = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names}
    (out / "MANIFEST.json").write_text(manifest(files))
    (out / "SHA256SUMS").write_text(sums(files))


def forge(out, fit=None):
    """Make all that follows from the fit right again: hashes, figures, page and manifest."""
    document = document_of(out)
    core = document["fits"][0]["core"] if fit is None else fit.core()
    old = document["fits"][0]
    report = PrivacyReport.from_dict(
        {"schema": old["schema"], "core": core, "release_id": "0", "release": None}
    )
    own = report.to_dict()
    own["release"] = old["release"] and {**old["release"], "release": own["release_id"]}
    with np.load(out / "components.npz") as archive:
        arrays = dict(archive)
    subject = rebuilt(report, arrays, arrays["feature_names"].tolist())
    document["fits"] = [own | {"results": findings_of(subject)}]
    document["guarantee"] = guarantee(reports_of(document))
    draw_again(out, document, subject)
    page_again(out, document)


def draw_again(out, document, subject):
    """Draw what needs no ledger from the forged numbers."""
    account = document["ledger"]
    of_ledger = of_the_ledger(account["n_charges"] if account else 0, 1)
    drawn = {one.name: one for one in draw([subject], wanted=lambda name: name not in of_ledger)}
    for picture in document["pictures"]:
        if picture["name"] in drawn:
            picture["alt"] = drawn[picture["name"]].alt
            (out / f"{picture['name']}.svg").write_text(drawn[picture["name"]].svg)


def page_again(out, document):
    """Write report, page, draft and manifest as they follow from a document and pictures."""
    (out / "report.json").write_text(as_json(document))
    pictures = {
        one["name"]: (out / f"{one['name']}.svg").read_bytes().decode(errors="replace")
        for one in document["pictures"]
    }
    (out / "report.html").write_text(page(document, pictures))
    manifest_again(out)


def test_a_true_release_passes_on_all_levels(copied, out, keys, capsys):
    sign(out / "MANIFEST.json", keys[0])
    ledger = copied / "ledger"
    head = PrivacyLedger(ledger).statement().chain.head()
    options = {"ledger": ledger, "head": f" {head.upper()}\n", "signer": f"{keys[0]}.pub"}
    found = verify(out, **options)
    assert found.passed and found.levels == (1, 2, 3, 4), str(found)
    assert status(out, *(f"--{name}={value}" for name, value in options.items())) == 0
    said = capsys.readouterr().out
    assert said == f"{found}\n"
    assert (
        "Level 3 of 4: this report, these files and this ledger agree. Not checked: who wrote the "
        "ledger.\n"
    ) in said
    assert "Level 4 of 4: it agrees with what you hold from outside." in said
    assert "Not checked: who gave you the head or the key." in said
    assert "No check can tell whether the noise was drawn as stated" in said
    assert "valid" not in said


FIT = ("fits", 0, "core")
EDITS = {
    "epsilon": ((*FIT, "guarantee", "epsilon"), 0.01),
    "delta": ((*FIT, "guarantee", "delta"), 1e-12),
    "method": ((*FIT, "method"), "Anything"),
    "unit": ((*FIT, "guarantee", "unit"), "patient"),
    "alignments": ((*FIT, "details", "alignments"), [1.0, 1.0]),
    "event": ((*FIT, "event", "mu"), 1e-3),
}
# What contradicts itself even when every hash is made again.
SEEN = {"epsilon", "delta", "method", "unit", "event"}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_found_at_level_1(out, edit):
    change(out, *EDITS[edit])
    found = verify(out / "report.json")
    assert failed(found) == [1] and "release id" in named(found)
    assert status(out) == 1


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_with_all_hashes_made_again_is_found_by_the_ledger(copied, out, edit):
    change(out, *EDITS[edit])
    forge(out)
    alone = verify(out)
    assert failed(alone) == ([1] if edit in SEEN else [])
    assert "release id" not in named(alone)
    assert 3 in failed(verify(out, ledger=copied / "ledger"))
    assert status(out, "--ledger", copied / "ledger") == 1


FIGURES = {
    "epsilon": ("guarantee", "epsilon"),
    "coin": ("guarantee", "attack", "coin"),
    "household": ("guarantee", "attack", "household_coin"),
    "profile": ("guarantee", "profile", 0, 1),
    "detection": ("guarantee", "attack", "detection", 0, 1),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_that_do_not_follow_are_found_at_level_1(out, figure):
    change(out, FIGURES[figure], 0.5)
    assert (failed(verify(out / "report.json")), named(verify(out / "report.json"))) == (
        [1],
        {"figures"},
    )


def test_a_document_of_another_form_is_found_at_level_1(out):
    change(out, ("title",), 3)
    found = verify(out)
    assert 1 in failed(found) and found.reports == ()
    assert "title: 3 is not of type 'string'" in str(found)
    assert status(out) == 1


RESULTS = {
    "share": ("components", 0, "share"),
    "range": ("components", 0, "range", 0),
    "entry": ("components", 0, "largest", 0, "entry"),
    "records": ("n_records",),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_not_the_arrays_are_found_at_level_2(out, name):
    change(out, ("fits", 0, "results", *RESULTS[name]), 0.5)
    manifest_again(out)
    found = verify(out)
    assert failed(found) == [2] and "results" in named(found)


def test_other_arrays_are_found_at_level_2(out):
    with np.load(out / "components.npz") as archive:
        arrays = dict(archive) | {"mean": np.zeros(4)}
    np.savez(out / "components.npz", **arrays)
    manifest_again(out)
    found = verify(out)
    assert failed(found) == [2] and "arrays" in named(found)
    assert status(out) == 1


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("name", ["report.html"])
def test_an_edited_page_is_found_at_level_2_whatever_its_hash(out, name, hashed):
    text = (out / name).read_text()
    assert text.count("Clinic") == 1
    (out / name).write_text(text.replace("Clinic", "Ministry"))
    if hashed:
        manifest_again(out)
    found = verify(out)
    assert failed(found) == [2] and named(found) == ({"page"} if hashed else {"page", "files"})
    assert status(out) == 1


def test_the_words_of_a_page_of_another_version_are_vouched_for_by_the_manifest_alone(out):
    change(out, (*FIT, "software", "skdppca"), "0.0.9")
    text = (out / "report.html").read_text()
    (out / "report.html").write_text(text.replace("Clinic", "Ministry"))
    manifest_again(out)
    found = verify(out)
    assert failed(found) == [1] and named(found) == {"release id", "release row"}
    assert "report.html" in found.notes[2] and "skdppca 0.0.9 wrote it" in found.notes[2]


@pytest.mark.parametrize("name", ["report.html", "components.npz", "MANIFEST.json", "scree.svg"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_never_read(out, name, kind):
    (out / name).rename(out.parent / name)
    make = {"pipe": os.mkfifo, "link": lambda to: to.symlink_to(out.parent / name)}
    make.get(kind, os.mkdir)(out / name)
    found = verify(out)
    assert failed(found) == [1] and f"{name} is a link, a pipe or a folder" in str(found)


@pytest.mark.parametrize("name", ["report.json", "curator.pub"])
def test_a_pipe_in_place_of_a_report_or_a_key_is_refused(out, name):
    os.mkfifo(out.parent / name)
    options = {"signer": out.parent / name} if name.endswith("pub") else {}
    with pytest.raises(OSError, match="is no file"):
        verify(out if options else out.parent / name, **options)


LISTED = {"another release": "components2.csv", "data": "data.csv"}


@pytest.mark.parametrize("name", LISTED.values(), ids=LISTED)
def test_files_that_only_the_manifest_knows_are_found_at_level_2(out, name):
    (out / name).write_text("1,2")
    listed = json.loads((out / "MANIFEST.json").read_text())["files"]
    listed[name] = hashlib.sha256(b"1,2").hexdigest()
    (out / "MANIFEST.json").write_text(manifest(listed))
    found = verify(out)
    assert failed(found) == [2]
    assert f"MANIFEST.json lists {name}, which is not part of this release" in str(found)


@pytest.mark.parametrize("name", ["skdppca.lock", "MANIFEST.json.sig"])
def test_data_under_a_name_of_ours_are_found_at_level_2(out, name):
    (out / name).write_text("1,2")
    found = verify(out)
    assert failed(found) == [2] and f"{name} is not part of the release" in str(found)
    (out / name).unlink()
    (out / "skdppca.lock").touch()  # what a run that was killed leaves
    assert verify(out).passed


@pytest.mark.parametrize("checks", [[], "praised"])
def test_other_checks_than_those_that_were_made_are_found_at_level_2(out, checks):
    document = document_of(out)
    praise = {"level": 1, "what": "ethics", "passed": True, "says": "the board approves"}
    forged = [*document["checks"], praise] if checks else []
    assert len(document["checks"]) == 10
    change(out, ("checks",), forged)
    forge(out)
    found = verify(out, ledger=out.parent / "ledger")
    assert failed(found) == [2] and named(found) == {"checks"}


@pytest.mark.parametrize("name", ["scores.csv", ".hidden", "more/page.html"])
def test_files_that_are_no_part_of_the_release_are_found_at_level_2(out, name):
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("1,2")
    found = verify(out)
    assert failed(found) == [2]
    assert f"{name.partition('/')[0]} is not part of the release" in str(found)


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
    assert verify(out).passed
    found = verify(out, ledger=copied / "ledger")
    assert failed(found) == [3]
    assert "records another release for this charge" in str(found)
    assert status(out, "--ledger", copied / "ledger") == 1


def test_a_second_release_on_one_charge_is_found_by_the_ledger(copied, made, frame, tmp_path):
    second = DPGauss(2).fit(frame)
    true = made.pca.privacy_
    second.privacy_ = replace(
        second.privacy_,
        receipt=true.receipt,
        parameters=second.privacy_.parameters | {"accountant": true.receipt.accountant},
    )
    row = replace(true.release, release=second.privacy_.release_id)
    second.privacy_ = replace(second.privacy_, release=row)
    ReleaseReport(second, pictures=False).write(tmp_path / "second")
    assert verify(tmp_path / "second").passed
    assert failed(verify(tmp_path / "second", ledger=copied / "ledger")) == [3]


def test_a_report_that_leaves_out_totals_that_it_had_is_found_at_level_2(out):
    change(out, ("ledger",), None)
    forge(out)
    assert named(verify(out)) == {"checks", "pictures"}


def test_a_charged_release_that_leaves_out_its_totals_is_found_by_the_ledger(copied, out):
    change(out, ("ledger",), None)
    document = document_of(out)
    document["pictures"] = [one for one in document["pictures"] if one["name"] != "ledger"]
    document["checks"] = [one for one in document["checks"] if one["level"] < 3]
    (out / "report.json").write_text(as_json(document))
    forge(out)
    (out / "ledger.svg").unlink(missing_ok=True)
    listed = json.loads((out / "MANIFEST.json").read_text())["files"]
    listed.pop("ledger.svg", None)
    (out / "MANIFEST.json").write_text(manifest(listed))
    (out / "SHA256SUMS").write_text(sums(listed))
    found = verify(out, ledger=copied / "ledger")
    assert (failed(found), named(found)) == ([3], {"totals"})
    assert "it does not state the totals of the ledger" in str(found)


TOTALS = {
    "spent": ("ledger", "spent"),
    "left": ("ledger", "remaining"),
    "before": ("ledger", "spent_before"),
    "charge": ("ledger", "charges", 0, "epsilon"),
    "share": ("ledger", "shares", "all"),
}


@pytest.mark.parametrize("name", TOTALS)
def test_other_totals_are_found_by_the_ledger(copied, out, name):
    change(out, TOTALS[name], 0.25)
    forge(out)
    assert verify(out).passed
    found = verify(out, ledger=copied / "ledger")
    assert (failed(found), named(found)) == ([3], {"totals"})


def test_totals_from_before_the_release_are_found_by_the_ledger(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    document = document_of(out)
    document["ledger"]["rows"] = 1
    document["ledger"]["head"] = ledger.statement().chain.head(1)
    (out / "report.json").write_text(as_json(document))
    forge(out)
    assert failed(verify(out, ledger=ledger)) == [3]


def test_later_charges_are_told_and_no_difference(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    ledger.charge_external("more counts", mu=0.1, adjacency="add-remove")
    found = verify(out, ledger=ledger)
    assert found.passed
    assert "Since this report 1 more charge was made; the total is epsilon" in str(found)


def test_a_ledger_rewritten_by_its_owner_is_found_by_level_4_alone(copied, out, made, frame, keys):
    sign(out / "MANIFEST.json", keys[0])
    kept = PrivacyLedger(copied / "ledger").statement().chain.head()
    # the owner writes the account anew, without the charge for the counts, and a report for it
    (copied / "ledger").unlink()
    ledger = PrivacyLedger.create(copied / "ledger", 3.0, 1e-6)
    signature = (out / "MANIFEST.json.sig").read_bytes()
    ReleaseReport(DPGauss(2, accountant=ledger).fit(frame), pictures=False).write(out, force=True)
    (out / "MANIFEST.json.sig").write_bytes(signature)
    assert verify(out, ledger=ledger).passed
    for outside in ({"head": kept}, {"signer": f"{keys[0]}.pub"}):
        found = verify(out, ledger=ledger, **outside)
        assert failed(found) == [4]
        options = [f"--{name}={value}" for name, value in outside.items()]
        assert status(out, "--ledger", copied / "ledger", *options) == 1


def test_a_head_from_before_the_release_vouches_for_nothing(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    chain = ledger.statement().chain
    found = [verify(out, ledger=ledger, head=chain.head(row)) for row in range(4)]
    assert [one.passed for one in found] == [False, False, False, True]
    assert "before the release in row 3" in str(found[2])


def test_a_signature_by_another_key_is_found_at_level_4(out, keys):
    sign(out / "MANIFEST.json", keys[1])
    found = verify(out, signer=f"{keys[0]}.pub")
    assert (failed(found), named(found)) == ([4], {"signature"})
    assert status(out, "--signer", f"{keys[0]}.pub") == 1


def test_a_signature_of_another_manifest_is_found_at_level_4(out, keys):
    sign(out / "MANIFEST.json", keys[0])
    (out / "report.html").write_text("{}")
    manifest_again(out)
    assert failed(verify(out, signer=f"{keys[0]}.pub")) == [2, 4]


def test_a_signature_for_another_purpose_is_found_at_level_4(out, keys):
    sign(out / "MANIFEST.json", keys[0], "file")
    assert failed(verify(out, signer=f"{keys[0]}.pub")) == [2, 4]


def test_a_missing_signature_is_found_at_level_4(out, keys):
    found = verify(out, signer=f"{keys[0]}.pub")
    assert failed(found) == [4] and "are not signed" in str(found)


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
    sign(out / "MANIFEST.json", keys[0])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="install OpenSSH"):
        verify(out, signer=f"{keys[0]}.pub")


def test_check_says_what_verify_report_says(made):
    expected = verify_report(made.pca.privacy_, arrays=None, ledger=made.ledger)
    found = made.report.check()
    assert all(finding.passed for finding in found)
    assert {one.what for one in expected} < {one.what for one in found}
    assert {one.level for one in found} == {1, 2, 3}


def test_a_fit_that_was_tampered_with_never_looks_private(made):
    forged = DPGauss(2, accountant=made.ledger)
    vars(forged).update(vars(made.pca))
    forged.privacy_ = copy.copy(made.pca.privacy_)
    object.__setattr__(forged.privacy_, "epsilon", 0.01)
    report = ReleaseReport(forged, pictures=False)
    assert "CHECKS FAILED" in report.html() and 'class="box failed"' in report.html()
    assert not all(finding.passed for finding in report.check())


@pytest.mark.parametrize("details", [{"sites": 5}, {"charged": 3}, {"present": []}])
def test_a_made_up_report_ends_no_check(out, details):
    document = document_of(out)
    document["fits"][0]["core"]["details"] |= details
    (out / "report.json").write_text(as_json(document))
    assert status(out) == 1


def hashed(out, change_core):
    """Change what a fit says of itself, and make its hash again."""
    document = document_of(out)
    fit = document["fits"][0]
    change_core(fit["core"])
    fit["release_id"] = fit["release"]["release"] = hash_of(fit["core"])
    (out / "report.json").write_text(as_json(document))
    manifest_again(out)


@pytest.mark.parametrize("mu", [1e308, "inf"])
def test_queries_that_cost_more_than_a_number_holds_end_no_check(out, mu):
    hashed(out, lambda core: core["spendings"][0].update(mu=mu))
    found = verify(out)
    assert 1 in failed(found) and "its questions cost mu=" in str(found)
    assert status(out) == 1
    assert main(["report", str(out)]) == 1


def test_an_event_of_very_many_parts_is_refused_before_it_is_priced(out):
    parts = [{"type": "pure", "epsilon": 1e-6 * i} for i in range(1, 102)]

    def composed(core):
        core["event"] = {"type": "composed", "events": parts}

    hashed(out, composed)
    assert "its event has more than 100 parts" in str(verify(out))


def test_a_title_that_fills_the_page_is_found_at_level_1(copied, out):
    document = document_of(out)
    document["title"] = "Private. Epsilon 0.01. " * 1000
    page_again(out, document)
    assert failed(verify(out, ledger=copied / "ledger"))[0] == 1


def test_a_long_title_with_white_space_around_it_passes(made, tmp_path):
    title = "x" * 300
    ReleaseReport(made.pca, title=f" {title}\n", pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.passed and found.document["title"] == title


def test_a_release_without_its_charge_is_found_at_level_1(out):
    change(out, (*FIT, "receipt"), None)
    assert "it has a ledger row that records the release, but no receipt" in str(verify(out))


def test_releases_of_different_units_are_no_report(out):
    document = document_of(out)
    other = copy.deepcopy(document["fits"][0])
    other["core"]["guarantee"]["unit"] = "patient"
    document["fits"].append(other)
    (out / "report.json").write_text(as_json(document))
    found = verify(out)
    assert "its releases have different units or neighbours" in str(found) and 1 in failed(found)


# A payload that a release could be made to carry past those who look at it.
SECRET = b"Jane Doe;1970-01-01;HIV+"


def in_text(change):
    return lambda content: change(content.decode()).encode()


def rezipped(content, compression=zipfile.ZIP_STORED, **changes):
    """The same members, in an archive as another program writes it."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = [(one, old.read(one)) for one in old.infolist()]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as new:
        for place, (about, member) in enumerate(members):
            info = zipfile.ZipInfo(about.filename)
            info.external_attr, info.compress_type = about.external_attr, compression
            for name, value in changes.items() if not place else ():
                setattr(info, name, value)
            with new.open(info, "w", force_zip64=True) as file:
                file.write(member)
    return buffer.getvalue()


def with_comment(content):
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = SECRET * 2000
    return buffer.getvalue()


def with_member(name):
    def change(content):
        buffer = io.BytesIO(content)
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(name, SECRET)
        return buffer.getvalue()

    return change


def shifted(content, place, by):
    """An archive with bytes put in before its directory, at a place that no member knows of."""
    end = content.rindex(b"PK\5\6")
    (start,) = struct.unpack_from("<L", content, end + 16)
    content = content[: end + 16] + struct.pack("<L", start + len(by)) + content[end + 20 :]
    return content[:place] + by + content[place:]


def between(content):
    end = content.rindex(b"PK\5\6")
    return shifted(content, struct.unpack_from("<L", content, end + 16)[0], SECRET)


def in_padding(content):
    """Words in the white space behind the header of an array, with its checksum made right."""
    blank = b" " * len(SECRET)
    assert blank in content
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    name = next(iter(members))
    members[name] = members[name].replace(blank, SECRET, 1)
    return zipped(members)


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as new:
        for name, member in members.items():
            with new.open(name, "w", force_zip64=True) as file:
                file.write(member)
    return buffer.getvalue()


def saved_again(change):
    """Other arrays of the same names, as numpy writes them."""

    def changed(content):
        with np.load(io.BytesIO(content)) as archive:
            arrays = dict(archive)
        np.savez(buffer := io.BytesIO(), **change(arrays))
        return buffer.getvalue()

    return changed


def wide(arrays):
    """Numbers in a type that has room behind them."""
    number = np.longdouble(arrays["n_samples"]).tobytes()[:-6] + SECRET[:6]
    return arrays | {"n_samples": np.frombuffer(number, np.longdouble).reshape(())}


ARCHIVE = {
    "comment": with_comment,
    "member": with_member("patients.txt"),
    "array": with_member("patients.npy"),
    "before": lambda content: SECRET + content,
    "behind": lambda content: content + SECRET,
    "before the directory": between,
    "compressed": lambda content: rezipped(content, zipfile.ZIP_DEFLATED),
    "extra": lambda content: rezipped(content, extra=struct.pack("<HH", 7, 24) + SECRET),
    "comment of a member": lambda content: rezipped(content, comment=SECRET),
    "date": lambda content: rezipped(content, date_time=(1970 + 19, 1, 2, 3, 4, 6)),
    "rights": lambda content: rezipped(content, external_attr=0o755 << 16),
    "inner attributes": lambda content: rezipped(content, internal_attr=0x4A44),
    "padding of a header": in_padding,
    "wide number": saved_again(wide),
    "other bytes": saved_again(lambda arrays: arrays | {"mean": arrays["mean"].astype(">f8")}),
    "wide names": saved_again(
        lambda arrays: arrays | {"feature_names": arrays["feature_names"].astype("<U99")}
    ),
    "order": saved_again(lambda arrays: dict(reversed(arrays.items()))),
}
TABLE = {
    "first head": in_text(lambda text: text.replace("feature", f"feature {SECRET.decode()}", 1)),
    "spaces": in_text(lambda text: re.sub(r",(\d)", r",  \1", text)),
    "quotes": in_text(lambda text: text.replace("age", '"age"', 1)),
    "digits": in_text(lambda text: re.sub(r"(\.\d+)\n", r"\g<1>00\n", text)),
    "line ends": in_text(lambda text: text.replace("\n", "\r\n")),
    "blank lines": in_text(lambda text: text + "\n\n"),
    "mark": in_text(lambda text: "\ufeff" + text),
    "no quote": in_text(lambda text: text.replace("age", "'age", 1)),
}
JSON = {
    "spaces": in_text(lambda text: text.replace(": ", ": \t \t ", 1)),
    "behind": in_text(lambda text: text + " \n\n"),
    "escapes": in_text(lambda text: text.replace('"schema"', '"\\u0073chema"', 1)),
}
REPORT = {
    **JSON,
    "digits": in_text(lambda text: text.replace('"epsilon": 1.0', '"epsilon": 1.00', 1)),
    "order": in_text(lambda text: as_json(dict(reversed(json.loads(text).items())))),
}


def in_document(change):
    """A change of what the report says, in the letters that skdppca writes."""

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


def nudged(*path, by):
    """A number with other digits at its end."""

    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] *= 1 + by

    return in_document(change)


FOUND = ("fits", 0, "results", "components", 0)
REPORT |= {
    "order of the guarantee": turned("guarantee"),
    "order of a fit": turned("fits", 0),
    "order of the results": turned(*FOUND),
    "order of the context": turned("context"),
    "order of a check": turned("checks", 0),
    "order of a picture": turned("pictures", 0),
    "order of the account": turned("ledger"),
    "digits of a variance": nudged(*FOUND, "variance", by=1e-12),
    "digits of an entry": nudged(*FOUND, "largest", 0, "entry", by=1e-12),
    "digits of a range": nudged(*FOUND, "range", 1, by=1e-8),
    "another type": nudged("fits", 0, "results", "n_features", by=0.0),
    "a check twice": in_document(lambda one: one["checks"].append(one["checks"][-1])),
    "a head": in_document(lambda one: one["fits"][0]["release"].update(head="Jane Doe")),
    "a nonce": in_document(lambda one: one["fits"][0]["core"]["receipt"].update(nonce="Jane")),
    "a row that is no integer": nudged("ledger", "rows", by=0.0),
}
MANIFEST = {**JSON, "another key": in_text(lambda text: text.replace("{", '{"Jane": 1,', 1))}
HIDDEN = {
    "components.npz": ARCHIVE,
    "components.csv": TABLE,
    "report.json": REPORT,
    "MANIFEST.json": MANIFEST,
}


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name, hows in HIDDEN.items() for how in hows]
)
def test_what_a_file_could_hide_is_found(copied, out, name, how):
    content = (out / name).read_bytes()
    changed = HIDDEN[name][how](content)
    assert changed != content
    (out / name).write_bytes(changed)
    if name != "MANIFEST.json":
        manifest_again(out)
    found = verify(out, ledger=copied / "ledger")
    assert not found.passed, str(found)


PICTURES = {
    "of no release": ["loadings2"],
    "of the same components": ["components"],
    "twice": ["scree"],
}


@pytest.mark.parametrize("names", PICTURES.values(), ids=PICTURES)
def test_a_picture_that_the_release_cannot_have_is_found(out, names):
    document = document_of(out)
    for name in names:
        (out / f"{name}.svg").write_bytes((out / "scree.svg").read_bytes())
        document["pictures"].append({"name": name, "alt": SECRET.decode()})
    (out / "report.json").write_text(as_json(document))
    listed = json.loads((out / "MANIFEST.json").read_text())["files"]
    (out / "MANIFEST.json").write_text(
        manifest({**listed, **{f"{name}.svg": "" for name in names}})
    )
    forge(out)
    found = verify(out)
    assert failed(found) == [2] and "pictures" in named(found)


@pytest.mark.parametrize("how", ["before", "behind"])
@pytest.mark.parametrize("signer", [False, True])
def test_a_signature_with_more_than_that_is_found_at_level_2(out, keys, how, signer):
    signature = sign(out / "MANIFEST.json", keys[0])
    options = {"signer": f"{keys[0]}.pub"} if signer else {}
    assert verify(out, **options).passed
    changed = SECRET + b"\n" + signature if how == "before" else signature + SECRET
    (out / "MANIFEST.json.sig").write_bytes(changed)
    assert failed(verify(out, **options)) == ([2, 4] if signer else [2])


def test_a_signature_that_nobody_checked_is_told(out, keys):
    assert "MANIFEST.json.sig" not in str(verify(out))
    sign(out / "MANIFEST.json", keys[0])
    says = "MANIFEST.json.sig was not checked. To check it, give --signer KEY."
    assert says in verify(out).notes[2]
    assert says not in str(verify(out, signer=f"{keys[0]}.pub"))


def test_a_head_is_told_to_vouch_for_no_words_of_the_curator(copied, out):
    ledger = PrivacyLedger(copied / "ledger")
    note = verify(out, ledger=ledger, head=ledger.statement().chain.head()).notes[4]
    alone = "the title, what was declared. A signature does."
    assert f"A head does not cover {alone}" in note


def test_a_head_is_told_to_vouch_for_no_pictures_of_another_matplotlib(copied, out):
    document = document_of(out)
    document["drawing"]["matplotlib"] = "0.1"
    page_again(out, document)
    ledger = PrivacyLedger(copied / "ledger")
    note = verify(out, ledger=ledger, head=ledger.statement().chain.head()).notes[4]
    assert "A head does not cover privacy.svg, scree.svg, loadings.svg, ledger.svg" in note


def test_a_head_is_told_to_vouch_for_no_names_that_the_fit_did_not_see(frame, tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "ledger", 3.0, 1e-6)
    pca = DPGauss(2, accountant=ledger).fit(frame.to_numpy())
    ReleaseReport(pca, feature_names=list(frame.columns), pictures=False).write(tmp_path / "out")
    found = verify(tmp_path / "out", ledger=ledger, head=ledger.statement().chain.head())
    assert found.passed and "what was declared, the features' names. A sig" in found.notes[4]


# Pictures. `{}` is the true picture's inside; all hashes and the page are made again.

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
LINKED = f'{NAMESPACE} xmlns:xlink="http://www.w3.org/1999/xlink"'
NESTED = "".join(f'<g id="g{i}"><use xlink:href="#g{i - 1}"/></g>' for i in range(1, 9))
TAKES_OVER = "<style>.box{display:none} body::before{content:'epsilon 0.01'}</style>"


def png(*chunks, behind=b""):
    parts = [struct.pack(">I", len(b)) + k + b + struct.pack(">I", crc32(k + b)) for k, b in chunks]
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts) + behind).decode()


def pixels(width=1, height=1):
    return b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)


DOT, END = (b"IDAT", compress(b"\0" * 5)), (b"IEND", b"")
ROWS = b"patient,age\n" * 100


def inside(more):
    return lambda svg: svg.replace("</svg>", f"{more}</svg>")


def image(address):
    return inside(f'<image xlink:href="{address}" x="0" y="0" width="9" height="9"/>')


def embedded(*chunks, behind=b""):
    return image(f"data:image/png;base64,{png(*chunks, behind=behind)}")


def styled(style):
    return inside(f'<path d="M 0 0" style="{style}"/>')


ODD_PICTURES = {
    "style": inside(TAKES_OVER),
    "style of the right begin": lambda svg: svg.replace("butt}", "butt} *{fill:red}"),
    "style of another element": inside("<g><style>*{stroke-linejoin: round}</style></g>"),
    "form": inside('<foreignObject><form action="https://x.example"/></foreignObject>'),
    "html": inside('<body xmlns="http://www.w3.org/1999/xhtml">x</body>'),
    "behind the root": lambda svg: f"{svg}<form action='https://x.example'></form>",
    "before the root": lambda svg: f"<b>x</b>{svg}",
    "two roots": lambda svg: svg + svg,
    "closed early": lambda svg: svg.replace("</svg>", "</svg></figure><h1>epsilon 0.01</h1>"),
    "script": inside("<script>alert(1)</script>"),
    "event": lambda svg: svg.replace("<svg", '<svg onload="alert(1)"', 1),
    "event of a path": lambda svg: svg.replace("<path", '<path onclick="alert(1)"', 1),
    "link": inside('<a xlink:href="https://x.example"><path d="M 0 0"/></a>'),
    "animation": inside('<set attributeName="href" to="javascript:alert(1)"/>'),
    "nested picture": inside(f"<svg {NAMESPACE}><path d='M 0 0'/></svg>"),
    "image from elsewhere": image("https://x.example/pixel.png"),
    "image from a file": image("file:///etc/passwd"),
    "image that is a picture": image("data:image/svg+xml;base64,PHN2Zy8+"),
    "image that is a page": image("data:text/html;base64,PGgxPg=="),
    "image without pixels": image("data:image/png;base64,AAAA"),
    "rows behind an image": embedded(pixels(), DOT, END, behind=ROWS),
    "rows in a chunk": embedded(pixels(), (b"tEXt", ROWS), DOT, END),
    "rows in the end": embedded(pixels(), DOT, (b"IEND", ROWS)),
    "rows behind the pixels": embedded(pixels(), (b"IDAT", compress(b"\0" * 5) + ROWS), END),
    "rows in more pixels": embedded(pixels(), (b"IDAT", compress(b"\0" * 5 + ROWS)), END),
    "image that is huge": embedded(pixels(2**20, 2**20), DOT, END),
    "image that unpacks": embedded(pixels(), (b"IDAT", compress(b"\0" * 10**7)), END),
    "use from elsewhere": inside('<use xlink:href="https://x.example/a.svg#b" x="0" y="0"/>'),
    "use of nothing": inside('<use xlink:href="#nowhere" x="0" y="0" style=""/>'),
    "use over and over": inside(f'<g id="g0"><path d="M 0 0"/></g>{NESTED}'),
    "href without a prefix": inside('<use href="#a" x="0" y="0"/>'),
    "url in a style": styled("fill: url(https://x.example/a)"),
    "url in an attribute": inside('<g clip-path="url(https://x.example/a#b)"/>'),
    "escaped url": styled(r"fill: \75rl(https://x.example)"),
    "import": styled("fill: red; @import 'https://x.example'"),
    "place in a style": styled("position: fixed; top: 0"),
    "filter": inside('<g style="filter: blur(3px)"/>'),
    "comment": inside("<!-- patient 1, 47 -->"),
    "instruction": inside("<?xml-stylesheet href='https://x.example/a.css'?>"),
    "CDATA": inside("<text><![CDATA[x]]></text>"),
    "header": lambda svg: f'<?xml version="1.0"?>{svg}',
    "doctype": lambda svg: f'<!DOCTYPE svg [<!ENTITY a "x">]>{svg}',
    "doctype behind": lambda svg: svg + "<!DOCTYPE svg>",
    "unknown entity": inside("<text>&lol;</text>"),
    "text of a group": inside("<g>patient 1, 47</g>"),
    "text of a bell": inside("<text style=''>&#x202e;10.0 nolispe</text>"),
    "metadata": inside("<metadata>patient 1, 47</metadata>"),
    "title": inside("<title>epsilon 0.01</title>"),
    "data attribute": lambda svg: svg.replace("<path", '<path data-x="47"', 1),
    "long id": inside('<path id="a b" d="M 0 0"/>'),
    "id twice": inside('<path id="a" d=""/><path id="a" d=""/>'),
    "path with words": inside('<path d="patient 1"/>'),
    "namespace": lambda svg: svg.replace("<svg", '<svg xmlns:x="patient 1"', 1),
    "other default": lambda svg: svg.replace("2000/svg", "1999/xhtml", 1),
    "long": lambda svg: re.sub('height="[^"]*"', 'height="99999pt"', svg, count=1),
    "flat": lambda svg: re.sub('viewBox="[^"]*"', 'viewBox="0 0 100 1"', svg, count=1),
    "deep": inside("<g>" * 10**4 + "</g>" * 10**4),
    "white space in a style": styled(f"fill:{' ' * 10**6}("),
    "white space in an image": image(f"data:image/png;base64,{' ' * 10**6}("),
    "cut": lambda svg: svg[:-20],
    "nothing": lambda svg: "",
    "words": lambda svg: "patient 1, 47",
    "half a letter": lambda svg: svg.replace("<svg", '<svg role="\ud800"', 1),
}
LAUGHS = "".join(
    f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' if i else '<!ENTITY a0 "ha">' for i in range(12)
)
ODD_PICTURES["billion laughs"] = lambda svg: (
    f"<svg {LINKED}>" + f"<!DOCTYPE svg [{LAUGHS}]>" + "<text>&a11;</text></svg>"
)


@pytest.fixture(scope="module")
def scree(made):
    svg = (made.folder / "out" / "scree.svg").read_text()
    assert wrong_svg(svg.encode()) is None
    return svg


@pytest.mark.parametrize("forged", ODD_PICTURES.values(), ids=ODD_PICTURES)
def test_a_picture_may_hold_what_ours_need_alone(scree, forged):
    svg = forged(scree)
    assert svg != scree
    assert wrong_svg(svg.encode(errors="surrogatepass")) is not None


END_TO_END = {name: ODD_PICTURES[name] for name in ("style", "closed early", "script", "nothing")}


@pytest.mark.parametrize("forged", END_TO_END.values(), ids=END_TO_END)
@pytest.mark.parametrize("redrawn", [True, False])
def test_a_picture_with_anything_odd_is_found_at_level_2(copied, out, forged, redrawn):
    document = document_of(out)
    true = (out / "scree.svg").read_text()
    svg = forged(true)
    if not redrawn:  # as if another matplotlib had drawn it
        document["drawing"]["matplotlib"] = "0.1"
    (out / "scree.svg").write_bytes(svg.encode(errors="surrogatepass"))
    page_again(out, document)
    ledger = PrivacyLedger(copied / "ledger")
    found = verify(out, ledger=ledger, head=ledger.statement().chain.head())
    assert failed(found) == [2], str(found)
    assert named(found) == {"pictures"} and "is no picture that skdppca drew" in str(found)
    assert status(out) == 1


def test_a_picture_of_the_account_with_anything_odd_is_found_at_level_2(copied, out):
    document, path = document_of(out), out / "privacy.svg"
    path.write_text(ODD_PICTURES["image without pixels"](path.read_text()))
    page_again(out, document)
    assert failed(verify(out, ledger=copied / "ledger")) == [2]


def test_a_true_picture_of_another_matplotlib_is_not_checked_and_no_difference(copied, out):
    document = document_of(out)
    document["drawing"]["matplotlib"] = "0.1"
    page_again(out, document)
    found = verify(out, ledger=copied / "ledger")
    assert found.passed
    assert "Pictures not checked: they were drawn by matplotlib 0.1" in found.notes[2]
    said = "Only the hashes in MANIFEST.json confirm privacy.svg, scree.svg, loadings.svg"
    assert said in found.notes[2]


@pytest.mark.parametrize("says", [True, False])
def test_a_report_that_does_not_say_what_drew_it_opens(copied, out, says):
    document = document_of(out)
    document["drawing"] = None
    if not says:
        del document["drawing"]
    page_again(out, document)
    found = verify(out, ledger=copied / "ledger")
    assert found.passed
    assert "Pictures not checked: the report does not say" in found.notes[2]


def test_without_matplotlib_pictures_are_not_checked(out, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = verify(out)
    assert found.passed and "Pictures not checked: matplotlib is not" in found.notes[2]


def test_true_pictures_are_drawn_again(copied, out):
    found = verify(out, ledger=copied / "ledger")
    assert found.passed and ".svg" not in found.notes[2]
    assert "MANIFEST.json confirm privacy.svg, ledger.svg," in verify(out).notes[2]


DRAWN_OTHERWISE = {
    "another number": lambda svg: re.sub(r'(<path d="M [\d.]+ )([\d.]+)', r"\1 1.5", svg),
    "other words": lambda svg: svg.replace(">Component<", ">No noise<"),
    "another title": lambda svg: svg.replace("epsilon 1,", "epsilon 0.1,"),
    "another colour": lambda svg: svg.replace("#0072b2", "#0072b3"),
    "something over it": inside('<path d="M 0 0 L 460 0 L 460 300 z" style="fill: #ffffff"/>'),
    "a white space": lambda svg: svg.replace("</svg>", "  </svg>"),
}


@pytest.mark.parametrize("forged", DRAWN_OTHERWISE.values(), ids=DRAWN_OTHERWISE)
def test_a_picture_that_shows_something_else_is_found_at_level_2(out, forged):
    document = document_of(out)
    true = (out / "scree.svg").read_text()
    (out / "scree.svg").write_text(forged(true))
    assert (out / "scree.svg").read_text() != true
    page_again(out, document)
    found = verify(out)
    assert failed(found) == [2] and "scree.svg shows something else" in str(found)


@pytest.mark.parametrize("name", ["privacy", "ledger"])
def test_a_picture_of_the_account_that_shows_something_else_is_found_by_the_ledger(
    copied, out, name
):
    document = document_of(out)
    path = out / f"{name}.svg"
    path.write_text(inside('<path d="M 0 0"/>')(path.read_text()))
    page_again(out, document)
    assert verify(out).passed
    found = verify(out, ledger=copied / "ledger")
    assert failed(found) == [3] and f"{name}.svg shows something else" in str(found)


def test_pixels_that_were_changed_are_found_at_level_2(out):
    document = document_of(out)
    true = (out / "loadings.svg").read_text()
    (old,) = re.findall(r"base64,([^\"]*)", true)[:1]
    picture = Image.open(BytesIO(b64decode(old)))
    picture.putpixel((5, 5), (255, 0, 0, 255))
    picture.save(buffer := BytesIO(), format="png")
    new = repacked(b64encode(buffer.getvalue()).decode())
    (out / "loadings.svg").write_text(true.replace(old, new))
    page_again(out, document)
    assert failed(verify(out)) == [2]


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (64, 65)])
@pytest.mark.parametrize("kind", ["plain", "noise", "steps"])
def test_packed_pixels_are_the_same_pixels(size, kind):
    generator, shape = np.random.default_rng(0), (*size[::-1], 4)
    pixels = {
        "plain": np.full(shape, 255),
        "noise": generator.integers(0, 256, shape),
        "steps": np.broadcast_to(np.arange(size[0])[:, None] // 9 % 256, shape),
    }[kind].astype(np.uint8)
    picture = Image.fromarray(pixels, "RGBA")
    picture.save(buffer := BytesIO(), format="png")
    packed = repacked(b64encode(buffer.getvalue()).decode())
    assert repacked(packed) == packed
    again = Image.open(BytesIO(b64decode(packed)), formats=["PNG"])
    assert (again.mode, again.size, again.tobytes()) == ("RGBA", size, pixels.tobytes())
    svg = f'<svg {LINKED}><image xlink:href="data:image/png;base64,{packed}"/></svg>'
    assert wrong_svg(svg.encode()) is None


def test_the_last_digit_of_a_number_may_be_rounded_otherwise(out):
    true = (out / "scree.svg").read_text()
    (number,) = re.findall(r"M (\d+\.\d{5}[1-8])\b", true)[:1]
    for step, same in ((1e-6, True), (1e-4, False)):
        other = true.replace(number, f"{float(number) + step:.6f}")
        assert other != true and alike(other, true) == same


HIDING = {
    "digits": lambda svg: re.sub(r"(M \d+\.\d{6})", rf"\g<1>{'47' * 200}", svg),
    "zeros before a number": lambda svg: re.sub(r"M (\d+\.\d{6})", rf"M {'0' * 200}\1", svg),
    "zeros behind a number": lambda svg: re.sub(r"M (\d+) ", r"M \1.000 ", svg),
    "ids": lambda svg: re.sub(r'(id="|#)(i\d+)\b', rf"\1\2{'patient47' * 50}", svg),
    "white space of an image": lambda svg: re.sub(r"(base64,\s*)", rf"\1{' ' * 2000}", svg),
    "packing of an image": lambda svg: re.sub(r"base64,\s*([^\"]*)", packed_otherwise, svg),
}


def packed_otherwise(found):
    """The same pixels, in other bytes."""
    picture = Image.open(BytesIO(b64decode(found[1])))
    picture.save(buffer := BytesIO(), format="png")
    return f"base64,{b64encode(buffer.getvalue()).decode()}"


@pytest.mark.parametrize("forged", HIDING.values(), ids=HIDING)
def test_a_picture_that_looks_the_same_hides_nothing(copied, out, forged):
    document = document_of(out)
    for name in ("scree", "loadings"):
        true = (out / f"{name}.svg").read_text()
        (out / f"{name}.svg").write_text(forged(true))
    page_again(out, document)
    found = verify(out, ledger=copied / "ledger")
    assert failed(found) == [2] and ".svg shows something else" in str(found)


def test_a_picture_described_in_other_words_is_found_at_level_2(out):
    document = document_of(out)
    place = next(one for one in document["pictures"] if one["name"] == "scree")
    place["alt"] = "Nothing was lost in the noise."
    page_again(out, document)
    found = verify(out)
    assert failed(found) == [2] and "scree is described in other words" in str(found)


def test_a_picture_that_is_left_out_is_found_at_level_2(out):
    document = document_of(out)
    document["pictures"] = [one for one in document["pictures"] if one["name"] != "scree"]
    (out / "scree.svg").unlink()
    manifest = json.loads((out / "MANIFEST.json").read_text())
    del manifest["files"]["scree.svg"]
    (out / "MANIFEST.json").write_text(json.dumps(manifest))
    page_again(out, document)
    assert failed(verify(out)) == [2] and "scree is missing among the pictures" in str(verify(out))


def test_a_picture_of_another_name_is_found_at_level_2(out):
    document = document_of(out)
    document["pictures"].append({"name": "loadings2", "alt": "All is well."})
    (out / "loadings2.svg").write_text((out / "loadings.svg").read_text())
    manifest = json.loads((out / "MANIFEST.json").read_text())
    (out / "MANIFEST.json").write_text(
        json.dumps(manifest | {"files": manifest["files"] | {"loadings2.svg": ""}})
    )
    page_again(out, document)
    assert failed(verify(out)) == [2] and "loadings2 is no picture of this report" in str(
        verify(out)
    )


def test_a_picture_without_an_end_is_not_read_to_its_end(out):
    document = document_of(out)
    svg = (out / "scree.svg").read_text()
    (out / "scree.svg").write_text(svg.replace("</svg>", " " * 2**22 + "</svg>"))
    page_again(out, document)
    found = verify(out)
    assert named(found) == {"files"}
    assert "scree.svg cannot be read, or is larger than report.json allows" in str(found)


def test_a_unit_of_another_direction_does_not_reach_the_page(out):
    document = document_of(out)
    turned = "row\u202e 10.0 nolispe"
    document["guarantee"]["unit"] = turned
    document["fits"][0]["core"]["guarantee"]["unit"] = turned
    page_again(out, document)
    for name in ("report.html",):
        text = (out / name).read_text()
        assert "\u202e" not in text and r"row\u202e" in text
    assert "\u202e" not in str(verify(out))


def test_hashes_that_others_read_are_those_of_the_manifest(out):
    listed = json.loads((out / "MANIFEST.json").read_text())["files"]
    lines = (out / "SHA256SUMS").read_text().splitlines()
    assert [line.partition("  ")[2] for line in lines] == [*listed, "MANIFEST.json"]
    for line in lines:
        sha256, _, name = line.partition("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize("change", ["a hash", "a line", "no file"])
def test_hashes_that_others_read_and_that_differ_are_found(out, change):
    path = out / "SHA256SUMS"
    text = path.read_text()
    if change == "no file":
        path.unlink()
    else:
        path.write_text(text[1:] if change == "a hash" else text.partition("\n")[2])
    found = verify(out)
    says = "is missing" if change == "no file" else "are not those in MANIFEST.json"
    assert failed(found) == [2] and f"SHA256SUMS {says}" in str(found)
