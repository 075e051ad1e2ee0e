"""A study: the public facts that the analyst and all sites agree on before anything is asked."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from ..privacy import epsilon_of, mu_of
from ..records import MAX_ROWS
from .identity import is_public_key

MAX_SITES = 50
MAX_FEATURES = 2**20
MAX_TEXT = 2**10

PublicKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

T = TypeVar("T", bound=Struct)


class Study(Struct, frozen=True, forbid_unknown_fields=True):
    """The public facts of a study.

    Parameters
    ----------
    name : str
    sites : dict of str to str
        The public key of every site, by name. One key is one party.
    columns : tuple of str, or int
        Their names in order, or how many there are, if they have no names.
    unit : str, default="row"
        What a record is: a row, or the name of what a group of rows stands for.
    sparse : bool, default=False
        Tables are sparse.
    missing : {"error", "mean"}, default="error"
        What NaN in a table means, as in the estimators.
    max_rows : int, default=2**20
        No site's table has more rows, or more groups. Sums fit into 64 bits by this number.
    max_sites_per_person : int, default=1
        The most sites at which one person has records. The guarantee of a run is for the records
        of one site. Who is at j sites has j times its mu.
    max_colluders : int, optional
        The most sites that may subtract their noise, alone or together with the server, while the
        guarantee holds. By default a third of the sites, and at least 1. A site or an analyst may
        ask for more, and never for less.

    Examples
    --------
    >>> from skdppca.federated import Study
    >>> Study("icu", {"north": "00" * 32, "south": "11" * 32}, columns=("age", "weight")).n_features
    2
    """

    name: str
    sites: dict[str, str]
    columns: tuple[str, ...] | int
    unit: str = "row"
    sparse: bool = False
    missing: Literal["error", "mean"] = "error"
    max_rows: int = 2**20
    max_sites_per_person: int = 1
    max_colluders: int = None  # type: ignore[assignment]  # __post_init__ counts the sites

    def __post_init__(self) -> None:
        check("name", self.name, is_name(self.name), "use letters, digits, - and _")
        valid = isinstance(self.sites, dict) and all(map(is_name, self.sites))
        keys = list(self.sites.values()) if valid else []
        valid = valid and all(map(is_public_key, keys)) and len(set(keys)) == len(keys)
        valid = valid and 1 <= len(keys) <= MAX_SITES
        remedy = f"give 1 to {MAX_SITES} names, each with its own public key of 64 hex digits"
        check("sites", self.sites, valid, remedy)
        names = self.columns
        if isinstance(names, tuple):
            valid = 1 <= len(names) <= MAX_FEATURES and len(set(names)) == len(names)
            valid = valid and all(isinstance(name, str) for name in names)
        else:
            valid = type(names) is int and 1 <= names <= MAX_FEATURES
        check("columns", self.columns, valid, "give different names, or how many there are")
        valid = isinstance(self.unit, str) and 0 < len(self.unit) < MAX_TEXT
        check("unit", self.unit, valid and self.unit != "interaction", "name what a record is")
        check("sparse", self.sparse, type(self.sparse) is bool, "give True or False")
        valid = self.missing in ("error", "mean")
        check("missing", self.missing, valid, "choose 'error' or 'mean'")
        valid = type(self.max_rows) is int and 1 <= self.max_rows <= MAX_ROWS
        check("max_rows", self.max_rows, valid, "give a number from 1 to 2**30")
        j = self.max_sites_per_person
        valid = type(j) is int and 1 <= j <= len(self.sites)
        check("max_sites_per_person", j, valid, "give a number from 1 to that of the sites")
        m, colluders = len(self.sites), self.max_colluders
        if colluders is None:
            colluders = max(1, m // 3)
            msgspec.structs.force_setattr(self, "max_colluders", colluders)
        valid = type(colluders) is int and 1 <= colluders < max(2, m)
        check("max_colluders", colluders, valid, "give a number from 1 to that of the other sites")

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return self.columns if isinstance(self.columns, int) else len(self.columns)

    def person_epsilon(self, epsilon: float, delta: float) -> float:
        """What a run of this cost means for who has records at `max_sites_per_person` sites.

        Proof. Let that person's records come one site after the other. Each step is mu-GDP, so j
        of them are ``j mu``-GDP (group privacy; Dong, Roth and Su 2022, Theorem 2.14). The root of
        j would not do: the sites add one sum, and the person moves all of it.
        """
        if self.max_sites_per_person == 1:
            return epsilon
        return epsilon_of(self.max_sites_per_person * mu_of(epsilon, delta), delta)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a study from a JSON file."""
        return read_json(path, cls)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a JSON file, where nothing lies yet."""
        written(path, self)


def is_name(value: Any) -> bool:
    """Whether this can name a study or a site, and a file."""
    return (
        isinstance(value, str) and re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]{0,62}", value) is not None
    )


def read_json(path: str | os.PathLike[str], kind: type[T]) -> T:
    """Read a JSON file that a person may have written."""
    name = os.fsdecode(path)
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=kind)
    except OSError as error:
        raise type(error)(f"{name}: {error.strerror}; check the path") from None
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: it is no JSON ({error}); check that it is the file") from None


def written(path: str | os.PathLike[str], content: Struct) -> None:
    """Write JSON for people, where nothing lies yet."""
    try:
        with open(path, "xb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    except FileExistsError:
        raise FileExistsError(
            f"{os.fsdecode(path)}: exists already, and others may hold copies of it; keep it, or "
            "choose another path"
        ) from None


def check(name: str, value: Any, valid: bool, remedy: str) -> None:
    """Refuse a public value that is not valid."""
    if not valid:
        raise ValueError(f"{name}={value!r} is not valid; {remedy}")
