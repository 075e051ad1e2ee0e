"""Pixels as a PNG that is the same with every version of every library.

Whoever packs pixels may choose between many streams of bytes, and a choice can carry a message.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO

# A PNG of ours: 8 bits a channel, red, green, blue and opacity.
PNG = b"\x89PNG\r\n\x1a\n"
PARTS = (b"IHDR", b"IDAT", b"IEND")
KIND = (8, 6, 0, 0, 0)

# Bytes of a pixel, and the filter of a row: what it differs by from the row above.
PIXEL = 4
ABOVE = b"\2"

# Deflate (RFC 1951, 3.2.6): a last block of fixed codes, its end, and "4 bytes before".
BLOCK, FINISH, BEFORE = "110", "0000000", "00011"
SHORTEST = 3
LONGEST = 258


def repacked(encoded: str) -> str:
    """The same picture, packed in the one way that is ours; both in base64."""
    from PIL import Image  # matplotlib needs it

    image = Image.open(BytesIO(b64decode(encoded)), formats=["PNG"]).convert("RGBA")
    (width, height), pixels = image.size, image.tobytes()
    length, rows, above = PIXEL * width, b"", bytes(PIXEL * width)
    for place in range(0, len(pixels), length):
        row = pixels[place : place + length]
        rows += ABOVE + bytes((one - other) % 256 for one, other in zip(row, above, strict=True))
        above = row
    header = struct.pack(">IIBBBBB", width, height, *KIND)
    parts = zip(PARTS, (header, _deflated(rows), b""), strict=True)
    content = PNG + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    return b64encode(content).decode()


def _deflated(content: bytes) -> bytes:
    """A zlib stream that refers to the pixel before wherever that is longer than two bytes."""
    bits = "".join((BLOCK, *_codes(content), FINISH))
    packed = int(bits[::-1], 2).to_bytes(-(-len(bits) // 8), "little")
    return b"\x78\x01" + packed + struct.pack(">I", zlib.adler32(content))


def _codes(content: bytes) -> Iterator[str]:
    place = 0
    while place < len(content):
        most, end = min(len(content), place + LONGEST), place
        while PIXEL <= place and end < most and content[end] == content[end - PIXEL]:
            end += 1
        if end - place < SHORTEST:
            byte, end = content[place], place + 1
            yield f"{0x30 + byte:08b}" if byte < 144 else f"{0x190 + byte - 144:09b}"
        else:
            yield _length(end - place) + BEFORE
        place = end


def _length(count: int) -> str:
    """The code of a length, with the bits behind it."""
    if count == LONGEST:
        symbol, extra, rest = 285, 0, 0
    else:
        above = count - SHORTEST
        extra = max(above.bit_length() - 3, 0)
        symbol = 257 + above if not extra else 257 + 4 * extra + (above >> extra)
        rest = above & ((1 << extra) - 1)
    code = f"{symbol - 256:07b}" if symbol < 280 else f"{0xC0 + symbol - 280:08b}"
    return code + (f"{rest:0{extra}b}"[::-1] if extra else "")
