"""Make a certificate for the server: FOLDER/ca.crt, FOLDER/server.crt and FOLDER/server.key.

A study that has certificates already needs none of this. Sites and analyst get ca.crt, by a way
that they trust. server.key stays on the server. The authority's own key is kept nowhere.
"""

import argparse
import datetime
import ipaddress
import os
from pathlib import Path

from command import call
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = datetime.timedelta(days=365)


def certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    extensions: list[tuple[x509.ExtensionType, bool]],
) -> x509.CertificateBuilder:
    """Begin a certificate of this key; an extension comes with whether it is critical."""
    now = datetime.datetime.now(datetime.UTC)
    subject, issuer = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)])
        for one in (name, "study")
    )
    begun = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + LIFE)
    )
    for extension, critical in extensions:
        begun = begun.add_extension(extension, critical)
    return begun


def main(folder: Path, host: str) -> None:
    """Write ca.crt, server.crt and server.key."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ca.crt", "server.crt", "server.key"):
        if (folder / name).exists():
            raise FileExistsError(
                f"{folder / name} exists already; use it, or choose another folder: a new "
                "certificate would lock out everybody who has the old ca.crt"
            )
    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    try:
        who: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        who = x509.DNSName(host)
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    issued = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
        identifier
    )
    signs = x509.KeyUsage(
        False, False, False, False, False, True, True, False, False
    )
    root = certificate(
        "study",
        authority,
        [
            (x509.BasicConstraints(True, None), True),
            (signs, True),
            (identifier, False),
        ],
    )
    serves = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    leaf = certificate(
        host,
        server,
        [
            (x509.SubjectAlternativeName([who]), False),
            (serves, False),
            (issued, False),
        ],
    )
    for name, begun in (("ca.crt", root), ("server.crt", leaf)):
        signed = begun.sign(authority, hashes.SHA256())
        (folder / name).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = server.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = os.open(
        folder / "server.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
    )
    with os.fdopen(file, "wb") as out:
        out.write(private)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="where they are written"
    )
    parser.add_argument(
        "host",
        metavar="HOST",
        help="the server's name or address, as the others will give it",
    )
    call(main, parser)
