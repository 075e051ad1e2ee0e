"""An archive of arrays, as `numpy.savez` writes it, and with no byte in it that is not theirs.

A zip file has room for more than its members: comments, extra fields, gaps, dates, the padding of
a header. So an archive is read by its arrays alone, written again from these, and must be the same.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

# Bytes that an array takes beside its numbers, at most: headers of zip and npy, its name twice.
OVERHEAD = 1024

# The header of an npy file ends at a multiple of ALIGNED bytes, and has room for DIGITS digits.
ALIGNED = 64
DIGITS = 21
NPY = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<|][biufU]\d{1,9})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d+(?:, \d+)*,?)?)\), \} *\n"
)

# Parts of a zip file. Date and time are the earliest, the rights those of a private file.
LOCAL, ENTRY, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
DAY = 0x21
RIGHTS = 0o600 << 16
MOST = 0xFFFFFFFF


class Form(NamedTuple):
    """What Python decides about a zip file: by its version, and by the operating system."""

    version: int
    system: int


# Python 3.11.4 and newer, and older; on Linux or macOS, and on Windows.
FORMS = tuple(Form(version, system) for version in (45, 20) for system in (3, 0))


def write_archive(arrays: Mapping[str, Any], file: BinaryIO) -> None:
    """Write arrays and numbers by their names, as `numpy.load` reads them.

    The same arrays give the same bytes with every version of numpy and Python.
    """
    for piece in _pieces({name: np.asarray(one) for name, one in arrays.items()}, FORMS[0]):
        file.write(piece)


def read_archive(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an archive.

    Nothing in it is compressed, so they take as much memory as the archive.

    Raises
    ------
    ValueError
        If `write_archive` and `numpy.savez` write the arrays otherwise.
    """
    try:
        arrays = dict(_arrays(content))
    except (struct.error, TypeError) as error:
        raise ValueError(f"it is no archive: {error}") from None
    if not any(_same(content, _pieces(arrays, form)) for form in FORMS):
        raise ValueError("it holds more than its arrays")
    return arrays


def _same(content: bytes, pieces: Iterator[bytes | memoryview]) -> bool:
    place, view = 0, memoryview(content)
    for piece in pieces:
        if view[place : place + len(piece)] != piece:
            return False
        place += len(piece)
    return place == len(content)


# Writing.


def _pieces(arrays: Mapping[str, np.ndarray], form: Form) -> Iterator[bytes | memoryview]:
    directory, start = [], 0
    for name, array in arrays.items():
        header, numbers = _npy(array)
        label, size = f"{name}.npy".encode(), len(header) + len(numbers)
        total = zlib.crc32(numbers, zlib.crc32(header))
        common = struct.pack("<HHHHHL", form.version, 0, 0, 0, DAY, total)
        stated = MOST if form.version == 45 else size
        sizes = struct.pack("<LLHH", stated, stated, len(label), 20)
        extra = struct.pack("<HHQQ", 1, 16, size, size)
        local = LOCAL + common + sizes + label + extra
        about = struct.pack("<LLHHHHHLL", size, size, len(label), 0, 0, 0, 0, RIGHTS, start)
        made = struct.pack("<BB", form.version, form.system)
        directory.append(ENTRY + made + common + about + label)
        yield local
        yield header
        yield numbers
        start += len(local) + size
    entries = b"".join(directory)
    count = len(directory)
    yield entries
    yield END + struct.pack("<HHHHLLH", 0, 0, count, count, len(entries), start, 0)


def _npy(array: np.ndarray) -> tuple[bytes, memoryview]:
    """The header of an array, and its numbers."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if not array.flags.f_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    flipped = not array.flags.c_contiguous
    text = f"{{'descr': {array.dtype.str!r}, 'fortran_order': {flipped}, 'shape': {array.shape}, }}"
    if array.ndim:
        text += " " * (DIGITS - len(str(array.shape[-1 if flipped else 0])))
    length = len(text) + 1
    length += ALIGNED - (len(NPY) + 2 + length) % ALIGNED
    header = NPY + struct.pack("<H", length) + f"{text:<{length - 1}}\n".encode()
    flat = (array.T if flipped else array).reshape(-1)
    return header, flat.view(np.uint8).data if flat.size else memoryview(b"")


# Reading. What is not looked at here is compared with what is written again.


def _arrays(content: bytes) -> Iterator[tuple[str, np.ndarray]]:
    place, names = 0, set()
    while content.startswith(LOCAL, place):
        (letters,) = struct.unpack_from("<H", content, place + 26)
        label = content[place + 30 : place + 30 + letters].decode("ascii")
        (size,) = struct.unpack_from("<Q", content, place + 30 + letters + 4)
        name, begin = label.removesuffix(".npy"), place + 50 + letters
        place = begin + size
        if name in names or place > len(content):
            raise ValueError("it has a name twice, or ends before its numbers do")
        names.add(name)
        yield name, _array(content[begin:place])


def _array(content: bytes) -> np.ndarray:
    """The array of an npy file."""
    found = HEADER.match(content, len(NPY) + 2)
    if found is None:
        raise ValueError("it holds other things than numbers and text")
    descr, flipped, sizes = (part.decode() for part in found.groups())
    flat = np.frombuffer(content, np.dtype(descr), offset=found.end())
    shape = tuple(int(size) for size in sizes.split(",") if size.strip())
    array = flat.reshape(shape, order="F" if flipped == "True" else "C").copy(order="K")
    if array.dtype.kind == "U":
        plain = np.array(array.tolist(), dtype=str)
        if plain.dtype != array.dtype:
            raise ValueError("its text is wider than it need be")
    elif not array.ndim:
        with np.errstate(all="ignore"):
            if array.astype(np.float64).astype(array.dtype).tobytes() != array.tobytes():
                raise ValueError("it holds a number that is no float64")
    return array
