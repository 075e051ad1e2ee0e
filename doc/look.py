"""Pictures of four pages of the built documentation, light and dark: `make docs-look`.

Needs Chromium (Debian: ``apt install chromium``), and the pages (``make docs``).
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILT = Path(__file__).parent / "_build"
PAGES = {
    "landing": "index",
    "example": "auto_examples/plot_first_private_pca",
    "method": "methods/dp_gauss",
    "api": "api/generated/skdppca.PrivatePCA",
}
SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def look(page: Path, scheme: int, picture: Path, size: str = "1400,2200") -> None:
    """Draw a page as Chromium shows it to someone who prefers a scheme of colours."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            "chromium",
            *QUIET,
            f"--user-data-dir={profile}",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--window-size={size}",
            "--virtual-time-budget=15000",
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> int:
    """Write all pictures into `doc/_build/look`."""
    if shutil.which("chromium") is None:
        print("docs-look needs Chromium (Debian: apt install chromium)", file=sys.stderr)
        return 1
    folder = BUILT / "look"
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        for scheme, number in SCHEMES.items():
            picture = folder / f"{name}_{scheme}.png"
            look(BUILT / "html" / f"{page}.html", number, picture)
            print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
