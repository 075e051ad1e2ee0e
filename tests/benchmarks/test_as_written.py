"""The printed algorithms of benchmarks/as_written: labelled, kept apart, and working."""

import ast
import importlib
from math import log, pi, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skdppca
from skdppca.datasets import make_spiked
from skdppca.metrics import zeta_squared
from skdppca.privacy import mu_of

from ..benchmark_modules import BENCHMARKS, Recorder, load

FILES = sorted((BENCHMARKS / "as_written").glob("*.py"))
N, D, SIGMA, EIGENVALUES = 3000, 12, 0.05, (10.0, 5.0)

AS_WRITTEN = load("as_written")
METHODS = AS_WRITTEN.METHODS | AS_WRITTEN.WITHOUT_PRIVACY
# Whose names the package must not know.
FOLDERS = {"benchmarks", *(path.parent.name for path in BENCHMARKS.glob("*/*.py"))}


def imported(source):
    """Top-level names of absolute imports."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module)
    return {name.split(".")[0] for name in names}


def answer(method, k, epsilon, n=N, d=D, rng=None):
    """Components of a spiked sample, and its covariance."""
    draw = make_spiked(n, d, k, EIGENVALUES[:k], SIGMA, random_state=0)
    spikes = tuple(value + SIGMA**2 for value in EIGENVALUES[:k])
    model = AS_WRITTEN.Model((*spikes, SIGMA**2), SIGMA, SIGMA, epsilon, 0.01)
    factors = draw.X.reshape(n, -1, d)
    rng = np.random.default_rng(0) if rng is None else rng
    return METHODS[method](factors, k, model, rng), draw.covariance


@pytest.mark.parametrize(
    "line",
    [
        "import as_written",
        "from as_written import METHODS",
        "import benchmarks.as_written as w",
        "from experiments_power._papers import NicolasPowerMethod",
    ],
)
def test_a_planted_import_is_found(line):
    assert imported(line) & FOLDERS


def test_the_package_imports_no_benchmark():
    modules = Path(skdppca.__file__).parent.rglob("*.py")
    assert [path for path in modules if imported(path.read_text("utf-8")) & FOLDERS] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_module_says_that_it_is_not_private(path):
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert "**NOT PRIVATE**" in docstring


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_that_it_is_not_private(method):
    assert "NOT PRIVATE" in METHODS[method].__doc__


@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_components_are_orthonormal_rows(method, k, n):
    components, _ = answer(method, k, 1.0, n=n)
    assert components.shape == (k, D)
    assert np.allclose(components @ components.T, np.eye(k))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_without_noise_the_components_are_found(method, k):
    components, covariance = answer(method, k, 1e9)
    assert zeta_squared(components, covariance) < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_repeats_the_answer(method):
    assert np.array_equal(answer(method, 2, 1.0, n=200)[0], answer(method, 2, 1.0, n=200)[0])


def test_the_fullest_bin_is_found_in_every_column():
    module = importlib.import_module("as_written.k_dp_pca")
    # (0, 1] holds most of the first column, (-2, -1] most of the second, 0 is the edge of (-1, 0]
    gradients = np.array([[0.5, -1.5], [1.0, -1.0], [2.5, 0.0]])
    edges = module._fullest_bins(gradients, 1.0, 1e-9, np.random.default_rng(0))
    assert edges.tolist() == [0.0, -2.0]


def test_the_range_is_the_gradients_variance_within_its_bins():
    module = importlib.import_module("as_written.k_dp_pca")
    rng = np.random.default_rng(0)
    # differences have twice the variance, 8; the top of 4 eigenvalues of 500 draws is near it
    gradients = 2.0 * rng.normal(size=(1000, 4))
    spread = module.private_range(gradients, 1e9, 0.01, 0.01, rng)
    assert 8 * 2**-0.5 < spread < 8 * 2**0.5


def test_the_noise_of_mod_sulq_is_the_printed_one():
    rng = Recorder()
    answer("MOD-SuLQ", 2, 0.5, rng=rng)
    tail = sqrt(2 * log((D**2 + D) / (0.01 * 2 * sqrt(2 * pi))))
    printed = (D + 1) / (N * 0.5) * tail + 1 / (sqrt(0.5) * N)
    assert rng.scales == [pytest.approx(printed)]


@pytest.mark.parametrize("d", [2, 25, 400])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_the_noise_of_mod_sulq_is_private_and_about_d_times_too_large(d, epsilon, delta):
    # one row of norm 1 is exchanged: the upper triangle of their mean moves by sqrt(2) / n
    mu = sqrt(2) / load("as_written.dp_gauss").noise_sd(1, d, epsilon, delta)
    assert mu_of(epsilon, delta) > 0.9 * d * mu


@pytest.mark.parametrize("method", AS_WRITTEN.WITHOUT_PRIVACY)
def test_methods_without_privacy_add_no_noise(method):
    rng = Recorder()
    answer(method, 2, None, n=200, rng=rng)
    assert set(rng.scales) == {0.0, 1.0}  # 1: random starts
    assert rng.scales.count(1.0) == (2 if method == "Oja" else 1)


@pytest.mark.parametrize(
    ("without", "printed"), [("Oja", "k-DP-Ojas"), ("power iterations", "DP-Power-Method")]
)
def test_methods_without_privacy_are_the_printed_ones_without_noise(without, printed):
    found, _ = answer(without, 2, None)
    noiseless, _ = answer(printed, 2, 1e15)
    assert np.allclose(found, noiseless, atol=1e-6)


def test_slopes_are_exponents_of_what_is_not_saturated():
    slope = load("headlines").slope
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert slope(x, 1e-3 * x**1.5) == pytest.approx(1.5)
    assert slope(x, np.minimum(0.01 * x**1.5, 0.4)) == pytest.approx(1.5)
    assert np.isnan(slope(x, np.full(5, 0.9)))


def test_lines_that_are_measured_replace_their_own_in_a_published_table(tmp_path):
    published = tmp_path / "summary.csv"
    published.write_text("n,method,median\n10,a,1\n10,b,2\n20,a,3\n20,b,4\n")
    measured = pd.DataFrame({"n": [10, 20], "method": "b", "median": [5, 6]})
    found = load("experiments_files").keep_others(measured, published, ["n"])
    assert found.values.tolist() == [[10, "a", 1], [10, "b", 5], [20, "a", 3], [20, "b", 6]]
