"""Inventories of other projects, from the lists in `doc/_inventories`: a build needs no network.

A list is the text that an inventory holds, below a first line with the address of its pages:
name, domain:role, priority, page (a `$` at its end stands for the name), and title (`-`: the name).
"""

import zlib
from pathlib import Path

HEADER = "# Sphinx inventory version 2\n# Project: {}\n# Version: \n# zlib\n"


def written(lists: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each list; return Sphinx's `intersphinx_mapping`."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(lists.glob("*.txt")):
        address, _, objects = path.read_text(encoding="utf-8").partition("\n")
        inventory = folder / f"{path.stem}.inv"
        head = HEADER.format(path.stem).encode()
        inventory.write_bytes(head + zlib.compress(objects.encode()))
        mapping[path.stem] = (address, str(inventory))
    return mapping
