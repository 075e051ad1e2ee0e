"""Noise that a question and the answer it hides decide, so that no question is answered twice.

A site that has lost its answer to a question must give the same bytes again. Fresh noise would be a
second look at the same sum for one charge, and a folder that is put back forty times would average
the noise away. So the noise is drawn from a key, as the nonce of a deterministic signature is.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from msgspec.structs import replace

from ..noise import SAMPLER, SharedQuery
from .messages import PROTOCOL, Request
from .study import canonical

# Hexadecimal digits of a seal: 128 bits.
SEAL_DIGITS = 32


def secret_of(secret: bytes, run: str) -> bytes:
    """Derive the secret of one run.

    It is the same whenever the site is asked, even where nothing else is left of the run. So a
    folder that was put back from before the run draws the same noise.
    """
    return hmac.digest(secret, canonical({"protocol": PROTOCOL, "run": run}), "sha256")


def noise_key(
    secret: bytes, site: str, request: Request, query: SharedQuery, steps: np.ndarray
) -> tuple[bytes, str]:
    """Derive the key of a site's noise for one question, and the seal of the question's charge.

    The key is for `NoiseSource`, and never stored. The charge's row holds the seal, which tells
    nothing to whoever lacks the secret.

    Parameters
    ----------
    secret : bytes
        The site's permanent one.
    site : str
    request : Request
        It names its run, its round and, by the digest, its plan. Everything in it counts but the
        keys of masks, which no noise follows from: a folder that was put back from before the run
        hands out another key.
    query : SharedQuery
        What the request stands for at this site.
    steps : ndarray of int64
        The rounded sum to which the noise will be added (`SharedQuery.rounded`).

    Notes
    -----
    **Claim.** Let an analyst, the server and other sites ask what they like, in view of all answers
    so far. Let the site's files be put back, lost in part or copied at any time, and its process be
    killed. Then what they see of its noisy vectors is what they would see if the site had drawn
    fresh noise, independent of all else, for every pair of a request (but for its keys) and a
    vector that occurs, and had repeated that draw whenever the pair occurs again. (Up to the
    assumptions below.)

    So to ask once more gives nothing that was not charged, and of the requests that were answered
    each is a `SharedQuery` of its price.

    *Proof.* 1. The text below is canonical JSON with the digests of the request and of the vector.
    Two pairs have the same text only if two contents have the same SHA-256. 2. HMAC-SHA256 with
    the run's secret is a pseudo-random function, since that secret is an HMAC of the permanent one,
    at a point that nothing else is computed at (`secret_of`): no efficient observer,
    who may choose the texts in view of all values before, can tell its values from those of a
    random function R. Texts depend on the records. That is no objection, since an observer could
    know the records. 3. R gives an independent uniform key for every pair, whatever the pair is:
    that the vector is in it makes no difference to the noise that is added to it. The seal is R at
    another point, so it is uniform and independent of the key. 4. SHAKE-256 of a uniform key is as
    good as independent uniform words (`KeyedWords`), and of such words the sampler draws exactly
    the discrete Gaussian. So a vector v is answered by v plus fresh noise, once. 5. What is
    repeated is a function of what was seen before.

    *Both must be in the text.* Without the request, one stream serves two noises: r1 of the scale
    s and r2 of 2 s give ``2 r1 - r2``, the sum but for rounding. Without the vector, a table that
    was edited gives the exact difference of its two sums.

    *The ledger's head is not in it.* It would give one question two noises: a charge's row holds a
    time and a random nonce, so once an older copy of the ledger is charged again, the heads are
    others from there on, and all later questions would be answered anew.

    *What it rests on.* HMAC-SHA256, SHA-256 and SHAKE-256; that the secret stays at the site, after
    the run as well as during it (who has it and a site's noisy vector can test what the vector is,
    and the mask's key, which is gone with the run, hides the vector); and
    that the same table gives the same vector. A sum in float64 may round otherwise with another
    number of threads or on another machine, and would get other noise. Where the ledger has the
    question's row, the seal tells, and the site refuses. It also rests on a table that stays the
    same during a run: that a request is answered by other bytes would say that the vector is
    another one. The site refuses if the table changes, whatever it is asked.
    """
    text = {
        "protocol": PROTOCOL,
        "sampler": SAMPLER,
        "site": site,
        "request": replace(request, keys={}).digest,
        "mu": query.mu,
        "size": query.size,
        "symmetric": query.symmetric,
        "vector": hashlib.sha256(steps.astype("<i8").tobytes()).hexdigest(),
    }

    run_secret = secret_of(secret, request.run)

    def keyed(purpose: str) -> bytes:
        return hmac.digest(run_secret, canonical(text | {"for": purpose}), "sha256")

    return keyed("noise"), keyed("seal").hex()[:SEAL_DIGITS]
