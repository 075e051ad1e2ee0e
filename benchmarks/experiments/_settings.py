"""One cell of an experiment: what the data are, and what printed methods are told of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from as_written import Model

from skdppca.datasets import Draw, make_gaussian, make_spiked

EPSILON, DELTA = 1.0, 0.01

# Records from which a cell gets fewer trials than were asked for, and how many at most.
FEWER_TRIALS = ((100_000, 5), (30_000, 10))


@dataclass(frozen=True)
class Setting:
    """Data of one cell. Its name is the key of saved results and the seed of the data.

    Parameters
    ----------
    n, d : int
        Records and features.
    eigenvalues : tuple of float
        Of the signal; those of E[A_i] are larger by sigma^2.
    sigma : float
    data : {"spiked", "gaussian"}
    """

    n: int = 10_000
    d: int = 200
    eigenvalues: tuple[float, ...] = (10.0, 5.0)
    sigma: float = 0.025
    data: str = field(default="spiked")

    def __str__(self) -> str:
        eigenvalues = " ".join(f"{value:g}" for value in self.eigenvalues)
        return f"{self.data} n={self.n} d={self.d} eigenvalues={eigenvalues} sigma={self.sigma:g}"

    @property
    def k(self) -> int:
        return len(self.eigenvalues)

    def trials(self, wanted: int) -> int:
        """At most `wanted`, and fewer where a trial is expensive."""
        return min([wanted, *(most for n, most in FEWER_TRIALS if self.n >= n)])

    def draw(self, trial: int) -> Draw:
        """Data of a trial: the same for every method, and in every figure."""
        seed = seed_of(str(self), trial)
        if self.data == "gaussian":
            return make_gaussian(self.n, self.d, self.eigenvalues, self.sigma, random_state=seed)
        return make_spiked(self.n, self.d, self.k, self.eigenvalues, self.sigma, random_state=seed)

    @property
    def model(self) -> Model:
        """The budget, and what only printed methods are told."""
        spikes = tuple(value + self.sigma**2 for value in self.eigenvalues)
        gamma = self.sigma if self.data == "spiked" else 1.0
        return Model((*spikes, self.sigma**2), self.sigma, gamma, EPSILON, DELTA)


def seed_of(*parts: object) -> int:
    """A seed that depends on nothing but the parts, for any order of running them."""
    words = [crc32(str(part).encode()) for part in parts]
    return int(np.random.SeedSequence(words).generate_state(1)[0])
