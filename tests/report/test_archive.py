"""Archives of arrays: the bytes that numpy writes, and no others."""

import base64
import io
import zlib

import numpy as np
import pytest

from skdppca.report._archive import FORMS, _pieces, read_archive, write_archive

RNG = np.random.default_rng(0)
ARRAYS = {
    "components": RNG.normal(size=(3, 5)),
    "columns": np.asfortranarray(RNG.normal(size=(3, 5))),
    "strided": RNG.normal(size=(6, 8))[::2, ::2],
    "turned": RNG.normal(size=(2, 3, 4)).transpose(2, 0, 1),
    "single": RNG.normal(size=4).astype(np.float32),
    "row": np.zeros((1, 4)),
    "nothing": np.zeros((0, 3)),
    "count": 3,
    "number": 2.5,
    "not a number": float("nan"),
    "truth": True,
    "truths": np.array([True, False]),
    "feature_names": np.array(["age", "Größe"]),
}

# np.savez(file, mean=np.arange(2.0), n=3), by Python 3.11.2, which states the sizes otherwise.
EARLIER = """
eNoL8GZmEWGAAEWGd6EZXROALBDmYBBhyE1NzNPLK6hkZBAAizFA5UBgsl+ob0AkI0MZQ7V6Smpx
cpG6lYK6TZqFuo6Celp+UUlRYl58flFKKkjcLTGnOBUoXpyRWJAK5GsY6WjqKNQqUAC4GFDAB/sA
FJ/c3LbrRQeQBcKsQJ/AvdEBVdKB1xuZxHmDUk8AvcEMdUeANyOTCDOuqECABkYQCYsYdF2o3kbW
dQpIQrWwsoGEmIAwE0h3gg0EAPmEWq0=
"""


def written(arrays):
    file = io.BytesIO()
    write_archive(arrays, file)
    return file.getvalue()


def test_an_archive_is_what_numpy_writes():
    file = io.BytesIO()
    np.savez(file, **ARRAYS)
    assert written(ARRAYS) == file.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_arrays_come_back_from_every_form(form):
    content = b"".join(_pieces({name: np.asarray(one) for name, one in ARRAYS.items()}, form))
    with np.load(io.BytesIO(content)) as archive:
        assert archive.files == [*ARRAYS]
    found = read_archive(content)
    assert [*found] == [*ARRAYS]
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(found[name], expected, strict=True)


def test_what_an_earlier_python_wrote_is_read():
    found = read_archive(zlib.decompress(base64.b64decode(EARLIER)))
    assert found["mean"].tolist() == [0.0, 1.0] and found["n"] == 3


def test_no_byte_can_be_another():
    content = written({"mean": np.ones(3), "n": 2})
    for place in range(len(content)):
        for bit in range(8):
            other = bytearray(content)
            other[place] ^= 1 << bit
            with pytest.raises(ValueError):  # of a number, too: there is a checksum
                read_archive(bytes(other))


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"PK\5\6" + bytes(18), b"PK\3\4" * 20])
def test_what_is_no_archive_is_refused(content):
    if content.startswith(b"PK\5\6"):
        assert read_archive(content) == {}
        return
    with pytest.raises(ValueError):
        read_archive(content)


@pytest.mark.parametrize(
    "shape", ["(1000000000000,)", "(2, 3)", "(" + "9" * 5000 + ",)", "((2,),)"]
)
def test_a_shape_that_its_numbers_do_not_have_is_refused(shape):
    content = written({"mean": np.ones(2)})
    old = b"'shape': (2,), }"
    with pytest.raises(ValueError):
        read_archive(content.replace(old, f"'shape': {shape}, }}".encode()))


@pytest.mark.parametrize("value", [2**53 + 1, np.longdouble(1) / 3, np.array(["a"]).astype("U9")])
def test_what_has_room_for_more_than_it_says_is_refused(value):
    file = io.BytesIO()
    np.savez(file, value=value)
    with pytest.raises(ValueError):
        read_archive(file.getvalue())


@pytest.mark.parametrize("dtype", ["c16", "S4", "M8[s]", "V3", "O"])
def test_other_things_than_numbers_and_text_are_refused(dtype):
    file = io.BytesIO()
    np.savez(file, value=np.zeros(2, dtype=dtype))
    with pytest.raises(ValueError):
        read_archive(file.getvalue())
