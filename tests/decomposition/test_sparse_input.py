"""Sparse matrices: one that contradicts itself is an error, and how one is stored is no matter."""

import copy

import numpy as np
import pytest
from scipy import sparse

from skdppca import DPGauss, PrivacyAccountant
from skdppca.decomposition.containers import as_compressed
from skdppca.maps import projection_map
from skdppca.model_selection import PrivateSearchCV

from ..estimators import on_all_estimators_slowly
from ..maps.test_projection_map import COST, EXTENT, PCA_2
from ..package.odd_data import SPARSE_PARTS, entry
from ..secret_rows import N_ROWS, D, assert_tells_nothing, refused, rows


def changed(form, **parts):
    """A sparse matrix, parts of which are replaced by functions of them."""
    few = form in ("bsr", "dia", "dok", "lil")  # slow to make
    X = sparse.csr_array(rows()[:40] if few else rows()).asformat(form)
    for name, change in parts.items():
        setattr(X, name, change(copy.copy(getattr(X, name))))
    return X


# What contradicts itself: by scipy's compiled code memory of others would be read, or written.
MALFORMED = {
    **{f"{form}, {part} {name}": (form, {part: make}) for form, part, name, make in SPARSE_PARTS},
    **{
        f"{form}, {name}": (form, {part: change})
        for form in ("csr", "csc")
        for name, part, change in [
            ("index just too large", "indices", entry(7, N_ROWS if form == "csc" else D)),
            ("unsigned indices", "indices", lambda part: part.astype(np.uint32)),
            ("a list of indices", "indices", lambda part: part.tolist()),
            ("two-dimensional indices", "indices", lambda part: part[:, None]),
            ("pointer too large", "indptr", entry(1, 10**8)),
            ("pointer negative", "indptr", entry(1, -5)),
            ("pointers falling", "indptr", entry(2, 0)),
            ("more pointers", "indptr", lambda part: np.append(part, part[-1])),
            ("no pointers", "indptr", lambda part: part[:0]),
        ]
    },
    "csr, fewer columns": ("csr", {"_shape": lambda shape: (N_ROWS, D - 1)}),
    "csr, fewer rows": ("csr", {"_shape": lambda shape: (N_ROWS - 1, D)}),
    "csr, more rows": ("csr", {"_shape": lambda shape: (N_ROWS + 1, D)}),
    "coo, column too large": ("coo", {"col": entry(7, 10**8)}),
    "coo, row negative": ("coo", {"row": entry(7, -1)}),
    "coo, fewer values": ("coo", {"data": lambda part: part[:-1]}),
    "bsr, index that wraps around": ("bsr", {"indices": entry(7, 2**31 - 1)}),
    "bsr, pointer too large": ("bsr", {"indptr": entry(1, 10**8)}),
    "bsr, fewer blocks": ("bsr", {"data": lambda part: part[:-1]}),
    "bsr, blocks too high": ("bsr", {"data": lambda part: part.repeat(2, axis=1)}),
    "dia, equal offsets": ("dia", {"offsets": entry(0, 0)}),
    "lil, more values than indices": ("lil", {"data": lambda part: part + part}),
    "lil, fewer rows": ("lil", {"rows": lambda part: part[:-1], "data": lambda part: part[:-1]}),
    "lil, more rows": (
        "lil",
        {name: lambda part: np.concatenate([part, part]) for name in ("rows", "data")},
    ),
    "lil, index too large": ("lil", {"rows": entry(7, [0, 1, 10**8])}),
    "lil, arrays": ("lil", {"rows": entry(7, np.arange(3)), "data": entry(7, np.ones(3))}),
    "dok, column too large": ("dok", {"_dict": lambda part: {**part, (7, 10**8): 1.0}}),
    "dok, row negative": ("dok", {"_dict": lambda part: {**part, (-7, 1): 1.0}}),
}
MATRICES = [pytest.param(*case, id=name) for name, case in MALFORMED.items()]
on_malformed = pytest.mark.parametrize(("form", "parts"), MATRICES)


@on_all_estimators_slowly
@on_malformed
def test_a_malformed_matrix_is_an_error_for_nothing(factory, form, parts):
    X = changed(form, **parts)
    text = refused(factory(accountant=PrivacyAccountant(10.0, 1e-5)), X, "^X ")
    assert_tells_nothing(text)


FITTED = DPGauss(2, random_state=0).fit(np.ones((20, D)))


@on_malformed
def test_a_malformed_matrix_is_not_transformed_or_scored(form, parts):
    X = changed(form, **parts)
    for method in (FITTED.transform, FITTED.score):
        with pytest.raises(ValueError):
            method(X)


@pytest.mark.parametrize(
    "case", ["csr, indices too large", "csc, indices too large", "coo, row too large"]
)
def test_a_malformed_matrix_is_no_map_and_no_search(case):
    form, parts = MALFORMED[case]
    X = changed(form, **parts)
    accountant = PrivacyAccountant(10.0, 1e-5)
    with pytest.raises(ValueError, match="X is a malformed sparse matrix"):
        projection_map(PCA_2, X, accountant=accountant, extent=EXTENT, **COST)
    search = PrivateSearchCV(DPGauss(2), {"clip": ["auto"]}, accountant=accountant)
    with pytest.raises(ValueError, match="X is a malformed sparse matrix"):
        search.fit(X)
    assert accountant.receipts == ()


def test_a_check_reads_a_matrix_and_changes_nothing_of_it():
    X = changed("csr")
    X.indices = np.append(X.indices, 10**6)  # behind the last pointer: no entries
    X.data = np.append(X.data, 1.0)
    parts = [part.copy() for part in (X.data, X.indices, X.indptr)]
    kept = X.data, X.indices, X.indptr
    assert as_compressed(X) is X
    DPGauss(2, random_state=0).fit(X)
    for part, before, now in zip(parts, kept, (X.data, X.indices, X.indptr), strict=True):
        assert before is now
        np.testing.assert_array_equal(part, now)


# The same matrix, stored in other ways.
A = np.random.default_rng(0).normal(size=(60, 4)) * (np.random.default_rng(1).random((60, 4)) < 0.7)


def csr():
    return sparse.csr_array(A)


def unsorted():
    X = csr()
    for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
        X.data[start:stop] = X.data[start:stop][::-1].copy()
    return X


def in_parts():
    """Every entry in two parts, out of order, under flags that say otherwise."""
    X = csr()
    order = np.concatenate(
        [np.tile(np.arange(a, b), 2) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    )
    X = sparse.csr_array((X.data[order] / 2, X.indices[order], 2 * X.indptr), X.shape)
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def indices_of(dtype, pointers=None):
    def make():
        X = csr()
        X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(pointers or dtype)
        return X

    return make


def with_zeros():
    X = csr()
    X.data[3] = 0.0
    return X


def behind_the_last():
    X = csr()
    X.indices, X.data = np.append(X.indices, 9999), np.append(X.data, 9999.0)
    return X


STORED = {
    **{form: lambda form=form: csr().asformat(form) for form in ("csc", "coo", "lil", "dok")},
    "dia": lambda: csr().todia(),
    "bsr": lambda: sparse.bsr_array(A, blocksize=(3, 2)),
    "matrix": lambda: sparse.csr_matrix(A),
    "unsorted": unsorted,
    "in parts": in_parts,
    "coo in parts": lambda: sparse.coo_array(
        (np.tile(csr().tocoo().data / 2, 2), [np.tile(part, 2) for part in csr().tocoo().coords]),
        A.shape,
    ),
    "int64": indices_of(np.int64),
    "int16": indices_of(np.int16),
    "int8 and int64": indices_of(np.int8, np.int64),
    "int64 and int32": indices_of(np.int64, np.int32),
    "other byte order": indices_of(np.dtype(np.int32).newbyteorder()),
    "entries behind the last": behind_the_last,
}


@on_all_estimators_slowly
@pytest.mark.parametrize("make", STORED.values(), ids=STORED)
def test_how_a_matrix_is_stored_changes_no_bit_of_a_release(factory, make):
    public = {"norm_bound": 1.0, "mean": np.zeros(4), "random_state": 0}
    expected = factory(2, **public).fit(csr())
    found = factory(2, **public).fit(make())
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.explained_variance_, expected.explained_variance_)
    np.testing.assert_allclose(found.transform(make()), expected.transform(A), atol=1e-12)


def test_explicit_zeros_are_zeros():
    dense = with_zeros().toarray()
    public = {"norm_bound": 1.0, "mean": np.zeros(4), "random_state": 0}
    expected = DPGauss(2, **public).fit(sparse.csr_array(dense))
    np.testing.assert_array_equal(
        DPGauss(2, **public).fit(with_zeros()).components_, expected.components_
    )
