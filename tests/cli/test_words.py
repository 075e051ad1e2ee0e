"""What a fit prints is explained in the glossary."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from skdppca.decomposition import METHODS

GLOSSARY = Path(__file__).parents[2] / "doc" / "glossary.rst"
TERMS = set(re.findall(r"^   (\S.*)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE))

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((400, 6)) * [5, 4, 3, 2, 1, 1]

FITS = {
    "rows": {},
    "groups": {"unit": "patient"},
    "absent cells": {"missing": "mean"},
    "scales": {"scale": "private"},
    "no centre": {"center": False},
    "little budget": {"epsilon": 0.1},
    "much budget": {"epsilon": 20.0},
}


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("method", METHODS)
def test_every_question_that_is_printed_is_in_the_glossary(method, kind):
    pca = METHODS[method].estimator(2, delta=1e-6, **{"epsilon": 1.0} | FITS[kind])
    fit = partial(pca.fit, ROWS)
    fit(groups=np.arange(len(ROWS)) // 4) if kind == "groups" else fit()
    assert {name for name, _, _ in pca.privacy_.costs()} <= TERMS
