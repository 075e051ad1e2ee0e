"""Without the extra everything else works, and a sentence says what is missing."""

import subprocess
import sys

from skdppca.privacy.installing import how_to_install

WITHOUT = "import sys; sys.modules['cryptography'] = None; "


def run(code):
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True)


def test_without_cryptography_all_else_is_imported_and_the_error_says_what_to_install():
    done = run(
        "from skdppca import DPGauss, PrivacyLedger; import skdppca.noise; "
        "print(any(name.startswith('flwr') for name in sys.modules)); import skdppca.federated"
    )
    assert done.stdout == "False\n"
    assert how_to_install("federated") in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError")


def test_without_cryptography_the_command_says_what_to_install():
    done = run("from skdppca.cli import main; main(['site', 'show', 'folder'])")
    assert done.stderr.count("\n") == 1
    assert "needs the package cryptography" in done.stderr
    assert how_to_install("federated") in done.stderr
