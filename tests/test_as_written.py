"""The printed algorithms of benchmarks/as_written: labelled, kept apart, and working."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest

import skdppca
from skdppca.datasets import make_spiked
from skdppca.metrics import zeta_squared

from .benchmarks import BENCHMARKS, load

FILES = sorted((BENCHMARKS / "as_written").glob("*.py"))
N, D, SIGMA, EIGENVALUES = 3000, 12, 0.05, (10.0, 5.0)

AS_WRITTEN = load("as_written")
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


def answer(method, k, epsilon, n=N, d=D):
    """Components of a spiked sample, and its covariance."""
    draw = make_spiked(n, d, k, EIGENVALUES[:k], SIGMA, random_state=0)
    spikes = tuple(value + SIGMA**2 for value in EIGENVALUES[:k])
    model = AS_WRITTEN.Model((*spikes, SIGMA**2), SIGMA, SIGMA)
    factors = draw.X.reshape(n, -1, d)
    rng = np.random.default_rng(0)
    return AS_WRITTEN.METHODS[method](factors, k, epsilon, 0.01, model, rng), draw.covariance


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


@pytest.mark.parametrize("path", sorted(Path(skdppca.__file__).parent.rglob("*.py")), ids=str)
def test_the_package_imports_no_benchmark(path):
    assert not imported(path.read_text(encoding="utf-8")) & FOLDERS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_module_says_that_it_is_not_private(path):
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert "**NOT PRIVATE**" in docstring


@pytest.mark.parametrize("method", AS_WRITTEN.METHODS)
def test_every_method_says_that_it_is_not_private(method):
    assert "NOT PRIVATE" in AS_WRITTEN.METHODS[method].__doc__


@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", AS_WRITTEN.METHODS)
def test_components_are_orthonormal_rows(method, k, n):
    components, _ = answer(method, k, 1.0, n=n)
    assert components.shape == (k, D)
    assert np.allclose(components @ components.T, np.eye(k))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("method", AS_WRITTEN.METHODS)
def test_without_noise_the_components_are_found(method, k):
    components, covariance = answer(method, k, 1e9)
    assert zeta_squared(components, covariance) < 0.01


@pytest.mark.parametrize("method", AS_WRITTEN.METHODS)
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
