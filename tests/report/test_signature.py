"""What is said of a signature that is missing or wrong."""

import subprocess

import pytest

from skdppca.report._signature import wrong_signature


@pytest.mark.parametrize("namespace", [None, "file"])
def test_what_is_wrong_with_a_signature_says_how_to_sign(tmp_path, keys, namespace):
    signed, key = tmp_path / "MANIFEST.json", keys[0]
    signed.write_text("{}\n")
    if namespace is not None:
        command = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, signed]
        subprocess.run(command, check=True, capture_output=True)
    wrong = wrong_signature(signed, tmp_path / "MANIFEST.json.sig", key.with_suffix(".pub"))
    assert "sign with ssh-keygen -Y sign -n skdppca -f KEY MANIFEST.json" in wrong
