"""Without the extra everything else works, and a sentence says what is missing."""

import subprocess
import sys

from skdppca.privacy.installing import how_to_install

WITHOUT = "import sys; sys.modules['cryptography'] = None; import skdppca; "


def test_without_cryptography_the_error_says_what_to_install():
    code = WITHOUT + "import skdppca.federated"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert how_to_install("federated") in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError")


def test_the_package_imports_neither_cryptography_nor_flower():
    code = (
        WITHOUT + "from skdppca import DPGauss, PrivacyLedger; import skdppca.noise; "
        "assert not any(name.startswith('flwr') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_cryptography_the_command_says_what_to_install():
    code = WITHOUT + "from skdppca.cli import main; main(['site', 'show', 'folder'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.count("\n") == 1
    assert "needs the package cryptography" in done.stderr
    assert how_to_install("federated") in done.stderr
