"""What the page, the text and the files of a report hold, and what they never hold."""

import getpass
import json
import re
import socket
import sys
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdppca import DPGauss, DPPowerMethod, PrivacyAccountant, PrivatePCA
from skdppca._text.digits import down
from skdppca.cli import main
from skdppca.model_selection import PrivateSearchCV
from skdppca.neighbors import PrivateNearestCentroid
from skdppca.report import Context, ReleaseReport, render, verify
from skdppca.report._context import DECISIVE, HAZARDS, LABELS

from .conftest import CONTEXT, NAMES, TITLE, document_of, text_of

MUTED = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """Tags that are not closed, ids, references and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.tags, self.images = [], [], [], [], []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in MUTED:
            self.open.append(tag)
        if tag == "img":
            self.images.append(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name, value in attributes.items():
            if name == "aria-labelledby" or (name.endswith("href") and value[0] == "#"):
                self.references.append(value.removeprefix("#"))
            self.references += re.findall(r"url\(#([^)]*)\)", value or "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in MUTED:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page(made):
    return made.report.html()


def test_the_page_is_well_formed_and_has_a_language(page):
    read = Page(page)
    assert not read.open
    assert dict(read.tags)["html"]["lang"] == "en"
    assert page.startswith("<!DOCTYPE html>")


def test_every_id_is_there_once_and_everything_referred_to(page):
    read = Page(page)
    assert len(set(read.ids)) == len(read.ids)
    assert set(read.references) <= set(read.ids)


def test_every_table_has_a_caption_and_heads_that_say_of_what(page):
    tags = Page(page).tags
    kinds = [tag for tag, _ in tags if tag in ("table", "caption", "tr", "th", "td")]
    tables = [i for i, kind in enumerate(kinds) if kind == "table"]
    assert tables and all(kinds[i + 1] == "caption" for i in tables)
    assert all(kinds[i + 1] == "th" for i, kind in enumerate(kinds) if kind == "tr")
    scopes = [attributes.get("scope") for tag, attributes in tags if tag == "th"]
    assert {*scopes} == {"col", "row"}


def test_every_picture_says_its_finding(made, page):
    images = Page(page).images
    assert [one["alt"] for one in images] == [one.alt for one in made.report._pictures]
    assert len(images) == 3
    assert all(one["alt"].endswith(".") for one in images)


def test_pictures_are_no_markup_of_the_page(made, page):
    assert "<svg" not in page and page.count("<style>") == 1
    for image in Page(page).images:
        kind, _, content = image["src"].partition("base64,")
        assert kind == "data:image/svg+xml;"
        assert b64decode(content, validate=True).startswith(b"<svg")
    assert "img-src data:" in page
    assert "form-action 'none'; base-uri 'none'" in page


def test_the_page_loads_nothing_and_runs_nothing(page):
    tags = Page(page).tags
    assert not {"script", "link", "iframe", "object", "embed"} & {tag for tag, _ in tags}
    for tag, attributes in tags:
        assert not any(name.startswith("on") for name in attributes)
        assert ("src" in attributes) == (tag == "img")
        assert attributes.get("src", "data:").startswith("data:")
        assert all(
            value.startswith("#") for name, value in attributes.items() if name.endswith("href")
        )
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_free_text_is_escaped_everywhere(made, page):
    assert "<script" not in page and "<b>" not in page and "&lt;script&gt;" in page
    assert "<script" not in made.report._repr_html_()


def test_the_page_has_twelve_sections_and_the_answers_of_the_curator(page):
    titles = re.findall(r'<h2 id="section-(\d+)">', page)
    assert titles == [str(number) for number in range(1, 13)]
    assert page.count("Declared by the curator, not checked") == 2
    text = Page(page).text
    for name in (*LABELS, *HAZARDS):
        label = LABELS.get(name) if name in LABELS else HAZARDS[name]
        assert label in text, name
    assert CONTEXT.purpose in text
    answers = CONTEXT.to_dict()
    # other_releases, several_units, fitted_before and raw_data_access are asked for twice
    missing = [name for name, answer in answers.items() if answer is None]
    twice = [name for name in missing if name in ("other_releases", "several_units")]
    twice += [name for name in missing if name in ("raw_data_access",)]
    assert text.count("Not stated") == len(missing) + len(twice)
    # the box asks for the answers that decide, too
    assert page.count('<div class="missing">') == len(missing) + len(twice) + 1
    assert text.count("(the curator says)") == 6


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "0 of 10 questions of section 10 are answered. Questions 1, 2, 3, 5, 8 and 9 are"),
        (
            DECISIVE | {"chosen_by_looking": "unknown"},
            "5 of 10 questions of section 10 are answered. Question 3 is open",
        ),
        (
            DECISIVE,
            "6 of 10 questions of section 10 are answered. Those that the figures rest on",
        ),
    ],
)
def test_the_box_says_that_the_curator_is_silent(frame, answers, says):
    page = declared(frame, **answers).html()
    box = page[page.index('<section class="box') : page.index("</section>")]
    assert says in box
    assert box.startswith('<section class="box private"') == (answers == DECISIVE)
    assert box.startswith('<section class="box open"') == (answers != DECISIVE)


def test_a_charge_of_others_that_is_not_private_makes_the_total_doubtful(frame):
    ledger = PrivacyAccountant(5.0, 1e-6)
    seeded = DPGauss(2, accountant=ledger, random_state=0).fit(frame)
    page = ReleaseReport(DPGauss(2, accountant=ledger).fit(frame), pictures=False).html()
    box = page[page.index('<section class="box') : page.index("</section>")]
    assert "Row 1 of the ledger is not private" in box
    assert "DPGauss (seeded: not private)" in page
    own = ReleaseReport(seeded, pictures=False).html()
    assert "Row 1 of the ledger is not private" not in own


def test_figures_that_do_not_hold_are_called_so_where_they_stand(frame):
    report = declared(frame, fitted_before="yes")
    assert "the figures below do not hold" in report.html()


BOXES = {
    "private": ({"epsilon": 1.0}, True, "Private, and charged to a ledger"),
    "uncharged": ({"epsilon": 1.0}, False, "Not charged to a ledger"),
    "seeded": ({"random_state": 1}, False, "NOT PRIVATE"),
    "seeded and charged": ({"random_state": 1}, True, "NOT PRIVATE"),
    "no noise": ({"epsilon": np.inf}, False, "NOT PRIVATE"),
}


@pytest.mark.parametrize(("parameters", "charged", "says"), BOXES.values(), ids=BOXES)
def test_the_box_of_a_release(frame, parameters, charged, says):
    accountant = PrivacyAccountant(3.0, 1e-6) if charged else None
    report = ReleaseReport(
        DPGauss(2, accountant=accountant, **parameters).fit(frame),
        context=Context(**DECISIVE),
        pictures=False,
    )
    page = report.html()
    box = page[page.index('<section class="box') : page.index("</section>")]
    status = re.match('<section class="box ([a-z-]+)"', box)[1]
    assert says in box and says in report._repr_html_()
    assert (status == "private") == (says.startswith("Private, and"))
    assert (status == "not-private") == ("NOT" in says)
    assert ("No ledger was charged" in box) == (status == "uncharged")
    assert ("Treat these files as you treat the data." in box) == (status == "not-private")
    assert ("would hardly change" in box) == (status != "not-private")
    assert ("Nobody can tell" in box) == (status != "not-private")


def declared(frame, private=True, **answers):
    parameters = {} if private else {"random_state": 0}
    pca = DPGauss(2, accountant=PrivacyAccountant(3.0, 1e-6), **parameters).fit(frame)
    return ReleaseReport(pca, context=Context(**answers), pictures=False)


@pytest.mark.parametrize("question", DECISIVE)
def test_a_declaration_against_the_figures_stands_in_the_box(frame, tmp_path, capsys, question):
    wrong = {"yes": "no", "no": "yes"}[DECISIVE[question]]
    report = declared(frame, **DECISIVE | {question: (wrong, "No, a <StandardScaler>")})
    page = report.html()
    box = page[page.index('<section class="box') : page.index("</section>")]
    assert (
        box.startswith('<section class="box not-as-stated"')
        and "No, a &lt;StandardScaler&gt;" in box
    )
    assert "Private, and charged" not in page
    report.write(tmp_path / "out")
    assert main(["verify", str(tmp_path / "out")]) == 1
    assert main(["verify", str(tmp_path / "out"), "--allow", "not-as-stated"]) == 0
    said = capsys.readouterr().out
    assert "NOT AS STATED" in said and "No, a <StandardScaler>" in said
    assert main(["report", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "NOT AS STATED" in said and "private as stated" not in said


def test_the_pictures_of_what_is_not_as_stated_say_so(frame):
    report = ReleaseReport(make_pipeline(StandardScaler(), DPGauss(2)).fit(frame))
    pictures = {one.name: one.address.partition("base64,")[2] for one in report._pictures}
    assert {*pictures} == {"privacy", "scree", "loadings"}
    for drawn in map(b64decode, pictures.values()):
        assert b"NOT AS STATED" in drawn and "ε".encode() not in drawn


@pytest.mark.parametrize("first", [StandardScaler(), Normalizer()], ids=["fitted", "by row"])
def test_a_step_fitted_before_stands_in_the_box(frame, tmp_path, first):
    pca = DPGauss(2, accountant=PrivacyAccountant(3.0, 1e-6))
    pipeline = make_pipeline(first, pca, KMeans(2)).fit(frame)
    report = ReleaseReport(pipeline, context=Context(fitted_before="no"), pictures=False)
    page = report.html()
    fitted = isinstance(first, StandardScaler)
    assert ('<section class="box not-as-stated"' in page) == fitted
    assert (
        "Step 'standardscaler' of the Pipeline, a StandardScaler, was fitted"
        in page.replace("&#39;", "'")
    ) == fitted
    assert "kmeans (KMeans)" in page and "no part of this release, and not private" in page
    report.write(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.agrees and ("NOT AS STATED" in str(found)) == fitted


def test_a_delta_above_one_over_the_records_stands_in_the_box(frame):
    for delta, told in ((1e-2, True), (1e-6, False)):
        pca = DPGauss(2, epsilon=1.0, delta=delta).fit(frame)
        box = ReleaseReport(pca, pictures=False).html().partition("</section>")[0]
        assert ("is not below 1 / (number of records)" in box) == told


def test_the_box_and_the_shell_tell_what_is_left_now(frame):
    accountant = PrivacyAccountant(4.0, 1e-6)
    pca = DPGauss(2, epsilon=1.0, accountant=accountant).fit(frame)
    accountant.charge_external("counts", epsilon=0.5, delta=0.0, adjacency="add-remove")
    document = ReleaseReport(pca, pictures=False).dict()
    assert document["ledger"]["spent"] == accountant.spent.epsilon > 1.4
    left = f"epsilon {down(accountant.remaining.epsilon, 4)} of 4 is left at delta 1e-06"
    report = ReleaseReport(pca, pictures=False)
    assert left in report.html().partition("</section>")[0] and left in str(report)


def test_the_winner_of_a_search_is_no_release_of_its_own(frame):
    search = PrivateSearchCV(DPGauss(), {"n_components": [1, 2]}, epsilon=1.0).fit(frame)
    with pytest.raises(ValueError, match=r"give the search itself: ReleaseReport\(search\)"):
        ReleaseReport(search.best_estimator_)


@pytest.mark.parametrize("question", DECISIVE)
def test_the_right_answer_is_no_objection(frame, question):
    page = declared(frame, **{question: (DECISIVE[question], "No, k=3 was fixed.")}).html()
    assert '<section class="box open"' in page


def test_what_is_not_private_stays_so_whatever_is_declared(frame):
    page = declared(frame, private=False, fitted_before="yes").html()
    assert '<section class="box not-private"' in page and "the curator answers" in page


def test_a_weak_guarantee_is_not_told_in_the_words_of_a_strong_one(frame):
    page = ReleaseReport(DPGauss(2, epsilon=8.0).fit(frame), pictures=False).html()
    assert "hardly change" not in page and "of any result could change. The lines" in page
    assert "Nobody can tell" not in page and "Whoever guesses from these numbers" in page


def test_no_file_has_a_duration_a_host_a_path_or_a_second_time(made):
    (time,) = {made.pca.privacy_.receipts[0].time}
    here = rf"\b({socket.gethostname()}|{getpass.getuser()}|home|tmp)\b|{made.folder}"
    for name in made.names:
        text = (made.folder / "out" / name).read_bytes().decode("latin-1")
        text = re.sub('base64,[^"]*', "", text)
        assert name.endswith(".npz") or not re.search(here, text), name
        times = set(re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.+][\d:.]+)?", text))
        assert times <= {time, time[:19].replace("T", " ")}, name
        assert not re.search(r"\b(seconds|elapsed|duration)\b", text), name


def test_the_exact_number_of_records_is_in_no_file_under_add_remove(frame, tmp_path):
    rows = frame.sample(1777, replace=True, random_state=0)
    pca = DPGauss(2, random_state=0).fit(rows)  # a seed, or the noisy number may be the exact one
    assert round(pca.n_samples_) != 1777
    ReleaseReport(pca).write(tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        if path.suffix in (".json", ".html"):
            assert not re.search(r"(?<![\d.])1 ?777(?!\d)", path.read_text()), path


def test_it_is_the_same_to_the_last_byte_whenever_it_is_written(made, tmp_path):
    again = ReleaseReport(made.pca, title=TITLE, context=CONTEXT)
    names = again.write(tmp_path / "again")
    assert names == made.names
    for name in names:
        first, second = (folder / name for folder in (made.folder / "out", tmp_path / "again"))
        assert first.read_bytes() == second.read_bytes(), name


@pytest.mark.slow
def test_pictures_do_not_depend_on_the_users_settings(made):
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "path", "font.size": 20, "savefig.dpi": 7}):
        again = ReleaseReport(made.pca, title=TITLE, context=CONTEXT)
        assert again.html() == made.report.html()


def test_a_directory_in_use_is_refused_without_force(made, tmp_path):
    out = tmp_path / "out"
    made.report.write(out)
    with pytest.raises(ValueError, match="force=True"):
        made.report.write(out)
    made.report.write(out, force=True)
    (out / "thesis.tex").touch()
    with pytest.raises(ValueError, match="no earlier release that could be replaced"):
        made.report.write(out, force=True)
    assert (out / "thesis.tex").exists() and (out / "report.html").exists()


def test_a_notebook_shows_the_box_and_the_pictures(made):
    shown = made.report._repr_html_()
    assert '<section class="box' in shown and shown.count("<img src=") == 3
    assert repr(made.report) == "<ReleaseReport of DPGauss: epsilon=1, delta=1e-06>"


def test_the_dictionary_is_a_copy(made):
    made.report.dict()["title"] = "another"
    made.report.dict()["fit"].clear()
    assert json.loads(made.report.json()) == made.report.dict() == document_of(made.folder / "out")
    assert made.report.dict()["title"] == TITLE


def test_a_report_is_of_one_release(made, frame):
    centred = PrivateNearestCentroid(["a", "b"])
    pipeline = make_pipeline(DPGauss(2), centred).fit(frame, ["a", "b"] * (len(frame) // 2))
    with pytest.raises(ValueError, match="2 steps of the Pipeline released something"):
        ReleaseReport(pipeline)
    assert ReleaseReport(pipeline[:1], pictures=False).dict()["fit"]["core"]["method"] == "DPGauss"
    with pytest.raises(TypeError, match="a report is of one release"):
        ReleaseReport([made.pca, made.free])
    with pytest.raises(ValueError, match="0 steps"):
        ReleaseReport(make_pipeline(Normalizer()).fit(frame))
    with pytest.raises(TypeError, match="has no privacy_"):
        ReleaseReport(object())


def test_sites_are_named_where_the_records_are_at_sites(frame):
    from dataclasses import replace

    pca = DPGauss(2).fit(frame)
    own = {"questions": 5, "mu": 0.25, "epsilon": 0.9}
    sites = {
        "sites": ["north", "south", "west"],
        "honest_sites": 2,
        "charged": dict.fromkeys(["north", "south", "west"], own),
        "max_sites_per_person": 2,
        "person_epsilon": 2.1,
        "study": "labs",
    }
    pca.privacy_ = replace(pca.privacy_, details=pca.privacy_.details | sites)
    report = ReleaseReport(pca, pictures=False)
    text = text_of(report)
    assert "Sites north, south, west." in text
    assert "A person with records at 2 sites has epsilon 2.1" in text
    assert "north 5 0.25 0.9" in text
    assert "Trust model federated. Trusted: 3 sites" in text and "of which 2 do not" in text


def test_what_was_declared_public_asks_for_its_source(frame):
    pca = PrivatePCA(2, norm_bound=40.0, mean=np.zeros(len(NAMES))).fit(frame)
    silent = text_of(ReleaseReport(pca, pictures=False))
    assert "Declared public: norm_bound=40.0 source: Not stated" in silent
    context = Context(facts_are_public=("yes", "The manual of the device."))
    told = text_of(ReleaseReport(pca, context=context, pictures=False))
    assert "Declared public: norm_bound=40.0 source: Yes. The manual of the device." in told


def test_an_accountant_out_of_reach_costs_no_report(made, monkeypatch):
    from skdppca.exceptions import LedgerError

    def gone(self):
        raise LedgerError("it is gone")

    monkeypatch.setattr(type(made.ledger), "statement", gone)
    report = ReleaseReport(made.pca, pictures=False)
    assert report.dict()["ledger"] is None
    assert "whose totals were not at hand" in report.html()


def test_a_page_is_made_anew_from_the_files(made, out, tmp_path):
    assert render(made.folder / "out") == made.report.html()
    (out / "report.html").write_text("All is well.")
    with pytest.raises(ValueError, match="do not agree"):
        render(out)
    page = tmp_path / "page.html"
    assert main(["report", str(out), "--page", str(page)]) == 1 and not page.exists()
    assert main(["report", str(made.folder / "out"), "--page", str(page)]) == 0
    assert page.read_text() == made.report.html()


def test_a_page_without_pictures_gets_them_when_it_is_made_anew(made, tmp_path):
    ReleaseReport(made.pca, title=TITLE, context=CONTEXT, pictures=False).write(tmp_path / "out")
    assert "<img" not in (tmp_path / "out" / "report.html").read_text()
    assert render(tmp_path / "out") == made.report.html()


def test_where_no_picture_can_be_drawn_the_page_has_none(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<img" not in render(made.folder / "out")
    report = ReleaseReport(made.pca)
    assert "<img" not in report.html() and "they need matplotlib" in report.no_pictures


def test_rows_that_are_images_are_drawn_as_images(frame, tmp_path):
    ReleaseReport(DPGauss(2).fit(frame), image_shape=(2, 2)).write(tmp_path / "out")
    assert 'id="picture-components"' in (tmp_path / "out" / "report.html").read_text()
    assert 'id="picture-components"' in render(tmp_path / "out")


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "the mean of every column"),
        ({"center": False}, "zeros, because center=False"),
        ({"mean": np.zeros(len(NAMES))}, "the mean that was declared public"),
        ({"mean": np.zeros(len(NAMES)), "center": False}, "the mean that was declared public"),
    ],
)
def test_the_report_says_where_the_mean_is_from(frame, parameters, says):
    report = ReleaseReport(DPGauss(2, **parameters).fit(frame), pictures=False)
    assert f"mean {len(NAMES)} {says}" in text_of(report)


def test_a_report_of_single_interactions_speaks_of_entries(tmp_path):
    rows = sparse.random_array((300, 12), density=0.2, rng=0, format="csr") != 0
    ledger = PrivacyAccountant(5.0, 1e-6, unit="interaction")
    pca = DPPowerMethod(2, protect="interaction", center=False, accountant=ledger)
    pca.fit(rows.astype(float))
    report = ReleaseReport(pca, pictures=False)
    text = Page(report.html()).text
    assert "If one interaction (one user with one item) were missing" in text
    assert "A user with m interactions is protected less" in text
    assert "all rows of one interaction" not in f"{text} {pca.privacy_} {ledger.statement()}"
    assert "the number of rows" in text and "from 300 records" in text
    assert "the number of records, with noise" not in text
    assert "zeros, because center=False" in text


@pytest.mark.parametrize("scale", [None, "private"])
def test_a_page_of_a_fit_without_noise_describes_none(frame, scale):
    pca = DPGauss(2, epsilon=np.inf, scale=scale).fit(frame)
    text = text_of(ReleaseReport(pca, pictures=False)).partition(" 12. Words")[0]
    for says in ("no noise and no clipping", "No noise was drawn", "noise_variance"):
        assert says in text
        text = text.replace(says, "")
    assert text.count("whether the noise was drawn as stated") == text.lower().count("nois") == 1
    assert "95 % range" not in text and "clipped" not in text


def test_all_but_the_first_three_sections_are_folded(page):
    open_ones, _, folded = page.partition("<summary><h2")
    assert re.findall(r'<h2 id="section-(\d+)">', open_ones) == ["1", "2", "3"]
    assert folded.count("<summary><h2") == 8 and "<details open" not in page
    box = page[page.index('<section class="box') :].partition("</section>")[0]
    assert "whoever guesses is right at most 55 times of 100, where a coin is right 50" in box
