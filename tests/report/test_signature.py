"""What is said of a signature that is missing or wrong, and what is one by its form."""

import base64
import struct
import subprocess

import pytest

from skdppca.report._signature import MOST_SIGNED, is_signature, wrong_signature

from .conftest import sign

KINDS = {"ed25519": (), "ecdsa": ("-b", "521"), "rsa": ("-b", "2048")}


@pytest.fixture
def signature(tmp_path, keys):
    (tmp_path / "MANIFEST.json").write_text("{}\n")
    return sign(tmp_path / "MANIFEST.json", keys[0])


def inner(signature):
    """What the letters of a signature stand for."""
    return base64.b64decode(b"".join(signature.split(b"\n")[1:-2]))


def armoured(inner, width=70):
    text = base64.b64encode(inner).decode()
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    begin, end = (f"-----{word} SSH SIGNATURE-----" for word in ("BEGIN", "END"))
    return "\n".join([begin, *lines, end, ""]).encode()


def string(content):
    return struct.pack(">L", len(content)) + content


@pytest.mark.parametrize("namespace", [None, "file"])
def test_what_is_wrong_with_a_signature_says_how_to_sign(tmp_path, keys, namespace):
    signed = tmp_path / "MANIFEST.json"
    signed.write_text("{}\n")
    signature = None if namespace is None else sign(signed, keys[0], namespace)
    wrong = wrong_signature(signed.read_bytes(), signature, keys[0].with_suffix(".pub"))
    assert "sign with ssh-keygen -Y sign -n skdppca -f KEY MANIFEST.json" in wrong


@pytest.mark.parametrize("kind", KINDS)
def test_what_ssh_keygen_writes_is_a_signature(tmp_path, kind):
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", tmp_path / "key", *KINDS[kind]]
    subprocess.run(command, check=True)
    (tmp_path / "MANIFEST.json").write_text("{}\n")
    signature = sign(tmp_path / "MANIFEST.json", tmp_path / "key")
    assert is_signature(signature) and armoured(inner(signature)) == signature
    assert wrong_signature(b"{}\n", signature, tmp_path / "key.pub") is None


HIDDEN = {
    "before": lambda s: b"Jane Doe, 1970\n" + s,
    "behind": lambda s: s + b"Jane Doe, 1970\n",
    "a second end": lambda s: s + s.split(b"\n")[-2] + b"\n",
    "white space": lambda s: s.replace(b"\n", b" \t\n", 2),
    "a blank line": lambda s: s.replace(b"\n", b"\n\n", 1),
    "short lines": lambda s: s.replace(b"\n", b"\nU1NI\n", 1),
    "no base64": lambda s: s.replace(b"U1NI", b"Jane Doe"),
    "armour alone": lambda s: s.split(b"\n")[0] + b"\n" + s.split(b"\n")[-2] + b"\n",
    "text in armour": lambda s: armoured(b"Jane Doe, 1970"),
    "behind the signature": lambda s: armoured(inner(s) + string(b"Jane Doe, 1970")),
    "ragged": lambda s: armoured(inner(s) + b"Jane"),
    "a long line": lambda s: armoured(inner(s), 10**4),
    "reserved": lambda s: armoured(
        inner(s).replace(string(b"skdppca") + string(b""), string(b"skdppca") + string(b"Jane Doe"))
    ),
    "hash": lambda s: armoured(inner(s).replace(string(b"sha512"), string(b"Jane Doe"))),
    "another version": lambda s: armoured(inner(s).replace(b"\0\0\0\1", b"\0\0\0\2", 1)),
    "key": lambda s: armoured(
        b"SSHSIG\0\0\0\1"
        + string(string(b"ssh-ed25519") + string(b"Jane Doe, 1970" * 9))
        + inner(s)[10 + 55 :]
    ),
    "kind": lambda s: armoured(inner(s).replace(b"ssh-ed25519", b"ssh-janedoe")),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_what_holds_more_than_a_signature_is_none(signature, how):
    assert is_signature(signature)
    assert HIDDEN[how](signature) != signature and not is_signature(HIDDEN[how](signature))


def test_what_ssh_keygen_overlooks_is_found_under_a_true_key(signature, keys):
    key = keys[0].with_suffix(".pub")
    assert wrong_signature(b"{}\n", signature, key) is None
    assert wrong_signature(b"{}\n", signature + b"Jane Doe, 1970\n", key) is not None


def test_the_longest_key_has_a_signature_that_may_be_read():
    number = string(b"\1" * 2049)
    key = string(string(b"ssh-rsa") + string(b"\1\0\1") + number)
    signed = string(string(b"rsa-sha2-512") + string(b"\1" * 2048))
    rest = string(b"skdppca") + string(b"") + string(b"sha512")
    signature = armoured(b"SSHSIG\0\0\0\1" + key + rest + signed)
    assert is_signature(signature) and len(signature) <= MOST_SIGNED
