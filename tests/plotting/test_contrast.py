"""Words can be read: a contrast of at least 4.5 with what is behind them (WCAG 2.2, 1.4.3)."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import skdppca
from skdppca.plotting import LoadingsDisplay
from skdppca.plotting._display import BLUE, NOISE, WARNING, contrast

LEAST = 4.5
STYLE = Path(skdppca.__file__).parent / "report" / "templates" / "style.css"

# Of the page of a release: words in these, on these.
GROUNDS = {
    "ink": ("ground", "soft", "good", "open", "bad"),
    "faint": ("ground", "soft", "good", "open", "bad"),
    "open-edge": ("ground", "soft", "good", "open", "bad"),
    "good-edge": ("ground", "good"),
    "bad-edge": ("ground", "bad"),
}


def schemes():
    """The colours of the page by their names, for light and for dark screens."""
    light, dark = STYLE.read_text(encoding="utf-8").split("@media (prefers-color-scheme: dark)")[:2]
    for scheme, css in (("light", light), ("dark", dark)):
        yield scheme, dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", css))


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [("black", "white", 21.0), ("white", "white", 1.0), ("#767676", "white", 4.54)],
)
def test_contrasts_are_those_of_the_guidelines(one, other, known):
    assert contrast(one, other) == pytest.approx(known, abs=0.005)
    assert contrast(other, one) == contrast(one, other)


@pytest.mark.parametrize("colour", [NOISE, WARNING, BLUE])
def test_words_are_written_in_colours_that_are_seen_on_white(colour):
    assert contrast(colour, "white") >= LEAST


def test_a_number_is_read_on_every_cell_of_a_heat_map():
    loadings = np.linspace(-1, 1, 80).reshape(2, 40)
    names = [f"x{i}" for i in range(40)]
    display = LoadingsDisplay(loadings=loadings, feature_names=names)
    display.plot(Figure().subplots())
    for (i, l), value in np.ndenumerate(loadings):  # noqa: E741
        words = display.text_[l, i]
        assert contrast(words.get_color(), display.im_.to_rgba(value)) >= LEAST


@pytest.mark.parametrize(("scheme", "colours"), list(schemes()))
@pytest.mark.parametrize("ink", GROUNDS)
def test_words_of_the_page_of_a_release_are_seen_on_their_grounds(scheme, colours, ink):
    low = {
        ground: contrast(colours[ink], colours[ground])
        for ground in GROUNDS[ink]
        if contrast(colours[ink], colours[ground]) < LEAST
    }
    assert not low
