"""What a picture may hold, so that it can do nothing but show lines, words and pixels."""

from __future__ import annotations

import re
import struct
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Callable, Iterator, Mapping
from xml.parsers import expat

from .._text import printable
from ._png import KIND, PARTS, PNG

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

# matplotlib's own, and no other.
STYLE = "*{stroke-linejoin: round; stroke-linecap: butt}"

NAME, NUMBERS, LENGTH = r"[A-Za-z][\w.-]*", r"[-+0-9.eE, ]*", r"[0-9.]+(pt|px)?"
HERE, DATA = rf"#({NAME})", r"data:image/png;base64,([A-Za-z0-9+/=\s]*)"
CLIP, MOVE = rf"url\(#({NAME})\)", r"((matrix|translate|rotate|scale)\([-0-9.e, ]*\) ?)*"
DECLARATION = re.compile(
    r"(fill|stroke|opacity|font|text-anchor)(-[a-z]+)* *:[-#\w ,.'%]*", re.ASCII
)

# The side of a picture, in points: none is so long that it pushes the rest of a page out of sight.
SIDE = r"[1-9]\d\d(\.\d+)?"

PLACE = {"x": NUMBERS, "y": NUMBERS}
SIZE = {"width": LENGTH, "height": LENGTH}
REFERENCE = f"{XLINK} href"

# Every element with its attributes, as patterns of all of their values. "style" has a grammar of
# its own, and "aria-label" is any text that can be printed.
ELEMENTS: dict[str, dict[str, str]] = {
    "svg": {"role": "img", "aria-label": ".*", "viewBox": f"0 0 {SIDE} {SIDE}", "version": "1.1"}
    | {"width": f"{SIDE}pt", "height": f"{SIDE}pt"},
    "defs": {},
    "style": {"type": "text/css"},
    "g": {"clip-path": CLIP, "transform": MOVE},
    "path": {"id": NAME, "d": r"[-+0-9.eE, \sMLHVCQZz]*", "style": ".*"}
    | {"clip-path": CLIP, "transform": MOVE},
    "use": {REFERENCE: HERE, "style": ".*"} | PLACE,
    "text": {"style": ".*", "transform": MOVE} | PLACE,
    "clipPath": {"id": NAME},
    "rect": PLACE | SIZE,
    "image": {REFERENCE: DATA, "transform": MOVE} | PLACE | SIZE,
}

# What lies in what; all others are empty, or hold text.
SHAPES = {"defs", "g", "path", "use", "text", "clipPath", "image"}
INSIDE = {"": {"svg"}, "svg": SHAPES, "g": SHAPES, "defs": SHAPES | {"style"}}
INSIDE |= {"clipPath": {"rect", "path"}}
DEEPEST = 32

# Attributes that refer to an element of the same picture, and what that must be: a shape without
# parts, so that nothing is drawn over and over.
REFERS = {REFERENCE: "path", "clip-path": "clipPath"}

# Pixels of an image: no more than a screen has.
MOST_PIXELS = 2**21

# Numbers are written with up to six digits after the point; the last one may be rounded otherwise.
LAST_DIGIT = 1.5e-6
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WRITTEN = re.compile(r"(-?[1-9]\d*|-?0(?=\.)|0)(\.\d{0,5}[1-9])?", re.ASCII)


def address(svg: str) -> str:
    """A picture as an address that a page shows it by, and that no markup can come out of."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def wrong_svg(content: bytes) -> str | None:
    """Return what a picture holds that none of ours does; None if there is nothing such."""
    try:
        _PictureReader().read(content)
    except _Odd as odd:
        return str(odd)
    except (expat.ExpatError, ValueError):
        return "it is no SVG"
    return None


class _Odd(Exception):
    """What no picture of ours holds."""


class _PictureReader:
    """Reads a picture from begin to end, and stops at the first thing that none of ours has."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._ids: dict[str, str] = {}
        self._used: list[tuple[str, str]] = []
        self._text: list[str] = []

    def read(self, content: bytes) -> None:
        """Read all of it.

        Raises
        ------
        _Odd, expat.ExpatError
        """
        if not content.startswith(b"<svg"):
            raise _Odd("it does not begin with <svg")
        parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._end
        parser.CharacterDataHandler = self._text.append
        parser.StartNamespaceDeclHandler = _declared
        # Before anything of a DOCTYPE is read: no entity is ever defined.
        parser.StartDoctypeDeclHandler = _refused("a DOCTYPE")
        parser.ProcessingInstructionHandler = _refused("a processing instruction")
        parser.CommentHandler = _refused("a comment")
        parser.StartCdataSectionHandler = _refused("a CDATA section")
        parser.Parse(content, True)
        for name, kind in self._used:
            if self._ids.get(name) != kind:
                raise _Odd(f"{printable(name)} is not there, or no {kind}")

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._check_text()
        space, _, element = name.rpartition(" ")
        parent = self._open[-1] if self._open else ""
        if space != SVG or element not in INSIDE.get(parent, ()):
            raise _Odd(f"it has an element {_quoted(element)} in {_quoted(parent or 'a file')}")
        if len(self._open) == DEEPEST:
            raise _Odd("it is nested too deeply")
        for attribute, value in attributes.items():
            self._check(element, attribute, value)
        if "id" in attributes:
            if attributes["id"] in self._ids:
                raise _Odd(f"it has the id {attributes['id']} twice")
            self._ids[attributes["id"]] = element
        self._open.append(element)

    def _check(self, element: str, attribute: str, value: str) -> None:
        pattern = ELEMENTS[element].get(attribute)
        found = None if pattern is None else re.fullmatch(pattern, value, re.ASCII)
        if (
            found is None
            or (attribute == "style" and not all(map(_is_declaration, value.split(";"))))
            or (attribute == "aria-label" and value != printable(value))
            or (element == "image" and attribute == REFERENCE and not _is_plain_png(found[1]))
        ):
            raise _Odd(f"{element} has {_quoted(attribute.rpartition(' ')[2])}={_quoted(value)}")
        if attribute in REFERS and element != "image":
            self._used.append((found[1], REFERS[attribute]))

    def _end(self, name: str) -> None:
        self._check_text()
        self._open.pop()

    def _check_text(self) -> None:
        """Words stand in `text`; between elements there is white space."""
        text, inside = "".join(self._text), self._open[-1] if self._open else ""
        self._text.clear()
        if inside == "style" and text != STYLE:
            raise _Odd("its <style> is not that of matplotlib")
        if inside == "text" and text != printable(text):
            raise _Odd("it has text that cannot be printed")
        if inside not in ("style", "text") and text.strip(" \n"):
            raise _Odd(f"it has text in {_quoted(inside)}")


def _refused(what: str) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise _Odd(f"it has {what}")

    return refuse


def _declared(prefix: str | None, uri: str) -> None:
    if {None: SVG, "xlink": XLINK}.get(prefix) != uri:
        raise _Odd(f"it has the namespace {_quoted(uri)}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _is_declaration(text: str) -> bool:
    return not text.strip() or DECLARATION.fullmatch(text.strip()) is not None


def _is_plain_png(encoded: str) -> bool:
    """Whether it is a PNG with pixels in it, and nothing else."""
    try:
        content = b64decode("".join(encoded.split()), validate=True)
        kinds, bodies = zip(*_chunks(content), strict=True)
        width, height, *kind = struct.unpack(">IIBBBBB", bodies[0])
        unpacked = zlib.decompressobj()
        size = height * (1 + 4 * width)
        if not (
            kinds == (PARTS[0], *[PARTS[1]] * (len(kinds) - 2), PARTS[2])
            and tuple(kind) == KIND
            and 0 < width * height <= MOST_PIXELS
        ):
            return False
        pixels = unpacked.decompress(b"".join(bodies[1:-1]), size + 1)
        return len(pixels) == size and unpacked.eof and not unpacked.unused_data + bodies[-1]
    except (NoBase64, ValueError, IndexError, struct.error, zlib.error):
        return False


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG, each with its kind; ValueError at what is none."""
    if not content.startswith(PNG):
        raise ValueError("it does not begin as a PNG")
    place = len(PNG)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        body = content[place + 8 : place + 8 + length]
        (check,) = struct.unpack_from(">I", content, place + 8 + length)
        if check != zlib.crc32(kind + body):
            raise ValueError("a part of it was changed")
        yield kind, body
        place += 12 + length


def alike(one: str, ours: str) -> bool:
    """Whether a picture, with nothing odd in it, shows the same as one that was drawn here.

    They are equal but for the last digit of a number, which another machine may round otherwise.
    """
    (words, numbers), (our_words, our_numbers) = map(_content, (one, ours))
    return words == our_words and all(map(_same_number, numbers, our_numbers))


def _content(svg: str) -> tuple[list[str], list[str]]:
    """The words of a picture and its images, and its numbers."""
    words = re.sub(DATA, "", svg)
    images = [found[0] for found in re.finditer(DATA, svg)]
    return [NUMBER.sub("0", words), *images], NUMBER.findall(words)


def _same_number(one: str, ours: str) -> bool:
    return one == ours or (
        WRITTEN.fullmatch(one) is not None and abs(float(one) - float(ours)) <= LAST_DIGIT
    )
