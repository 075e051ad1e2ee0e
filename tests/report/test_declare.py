"""A copy of a release that states more."""

import errno
import json

import pytest

from skdppca.report import Context, ReleaseReport, declare, verify
from skdppca.report._directory import Directory

from .conftest import TITLE, sign

MORE = Context(region="Anytown", fitted_before="no")
WORDS = ("report.json", "report.html", "SHA256SUMS")


def document(folder):
    return json.loads((folder / "report.json").read_text())


def test_a_copy_differs_in_what_it_states_only(made, tmp_path):
    first, second = made.folder / "out", tmp_path / "second"
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    names = declare(first, second, title="Vital signs", context=MORE)
    assert {path.name: path.read_bytes() for path in first.iterdir()} == before
    assert {*names} == {path.name for path in second.iterdir()} == {*before}
    changed = {name for name in before if (second / name).read_bytes() != before[name]}
    assert changed == {*WORDS}
    old, new = document(first), document(second)
    assert {name for name in old if old[name] != new[name]} == {"title", "context"}
    assert new["title"] == "Vital signs"
    assert new["context"] == old["context"] | {"region": "Anytown"}
    assert "Anytown" in (second / "report.html").read_text()


def test_a_copy_passes_every_level_that_its_release_passes(made, tmp_path):
    declare(made.folder / "out", tmp_path / "second", context=MORE)
    head = made.pca.privacy_.releases[0].head
    found = verify(tmp_path / "second", ledger=made.ledger, head=head)
    assert found.agrees and found.asked == ("files", "ledger", "outside")


def test_what_is_left_out_stays_as_it_was(made, tmp_path):
    declare(made.folder / "out", tmp_path / "second", context=MORE)
    assert document(tmp_path / "second")["title"] == TITLE


def test_a_copy_that_states_what_voids_the_figures_says_so(made, tmp_path):
    ReleaseReport(made.free, pictures=False).write(tmp_path / "first")
    yes = Context(fitted_before=("yes", "A scaler."))
    declare(tmp_path / "first", tmp_path / "second", context=yes)
    assert "NOT AS STATED" in (tmp_path / "second" / "report.html").read_text()


def test_an_answer_that_was_stated_stays(made, tmp_path):
    with pytest.raises(ValueError, match=r"states fitted_before already.*leave fitted_before out"):
        declare(made.folder / "out", tmp_path / "second", context=Context(fitted_before="yes"))
    assert not (tmp_path / "second").exists()


def test_files_that_do_not_agree_are_not_copied(out, tmp_path):
    (out / "components.csv").write_text("feature\n")
    with pytest.raises(ValueError, match=r"do not agree.*skdppca verify"):
        declare(out, tmp_path / "second", context=MORE)
    assert not (tmp_path / "second").exists()


def test_a_signature_is_not_taken_along(out, keys, tmp_path):
    sign(out / "SHA256SUMS", keys[0])
    declare(out, tmp_path / "second", context=MORE)
    assert not (tmp_path / "second" / "SHA256SUMS.sig").exists()


@pytest.mark.parametrize("place", [".", "copy", "report.json"])
def test_the_release_itself_is_never_written_to(place, out):
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ValueError, match="stays as it is"):
        declare(out, out / place, context=MORE, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_folder_with_an_earlier_release_is_replaced_only_if_asked(made, out):
    with pytest.raises(ValueError, match=r"not empty.*force=True"):
        declare(made.folder / "out", out, context=MORE)
    declare(made.folder / "out", out, context=MORE, force=True)
    assert document(out)["context"]["region"] == "Anytown"


@pytest.mark.parametrize("words", [{"title": 3}, {"context": {"region": "Anytown"}}])
def test_what_is_no_title_and_no_context_is_refused(words, made, tmp_path):
    with pytest.raises(TypeError, match=next(iter(words))):
        declare(made.folder / "out", tmp_path / "second", **words)


@pytest.mark.parametrize("title", ["", " \n", "x" * 301])
def test_a_title_is_neither_blank_nor_a_page(title, made, tmp_path):
    with pytest.raises(ValueError, match="title has"):
        declare(made.folder / "out", tmp_path / "second", title=title)
    with pytest.raises(ValueError, match="title has"):
        ReleaseReport(made.pca, title=title)


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"title": TITLE},
        {"context": Context(curator=" Clinic ")},
        {"context": Context(region=" ")},
    ],
)
def test_a_copy_that_states_nothing_new_is_refused(words, made, tmp_path):
    with pytest.raises(ValueError, match="states all of this already; give another title"):
        declare(made.folder / "out", tmp_path / "second", **words)


def test_a_report_without_its_files_is_not_copied(out, tmp_path):
    with pytest.raises(OSError, match="is not a directory"):
        declare(out / "report.json", tmp_path / "second", context=MORE)


def test_a_full_disk_leaves_nothing_behind(made, out, monkeypatch):
    add, before = Directory.add, {path.name: path.read_bytes() for path in out.iterdir()}

    def full(self, name, write):
        if name == "report.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        add(self, name, write)

    monkeypatch.setattr(Directory, "add", full)
    with pytest.raises(OSError, match=r"out cannot be written to \(No space left on device\)"):
        declare(made.folder / "out", out, context=MORE, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_links_that_lead_to_each_other_are_refused(made, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError, match="is a link"):
        declare(made.folder / "out", tmp_path / "a", context=MORE)
