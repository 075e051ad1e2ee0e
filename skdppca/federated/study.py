"""A study: the public facts that the analyst and all sites agree on before anything is asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields, force_setattr

from ..privacy import epsilon_of, mu_of
from ..records import MAX_ROWS

MAX_SITES = 50
MAX_FEATURES = 2**20
MAX_TEXT = 2**10

Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}\Z")]
PublicKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


def canonical(content: Any) -> bytes:
    """Write equal contents as equal texts: keys are sorted, and floats read back exactly."""
    return msgspec.json.encode(content, order="sorted")


class Checked(Struct, frozen=True, forbid_unknown_fields=True):
    """Base: every value is one of its field's type, whether it is read or made here."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, why = getattr(self, field.name), ""
            try:
                read = msgspec.json.decode(canonical(value), type=field.type)
                force_setattr(self, field.name, read)
            except msgspec.ValidationError as error:
                why = str(error)
            check(field.name, value, not why, why)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a JSON file that a person may have written."""
        name = os.fsdecode(path)
        try:
            return msgspec.json.decode(Path(path).read_bytes(), type=cls)
        except OSError as error:
            raise type(error)(f"{name}: {error.strerror}; check the path") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{name}: {error}; check that it is the file") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file for people, where nothing lies yet."""
        text = msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=2)
        try:
            with open(path, "xb") as out:
                out.write(text + b"\n")
        except FileExistsError:
            raise FileExistsError(
                f"{os.fsdecode(path)}: exists already, and others may hold copies of it; keep it, "
                "or choose another path"
            ) from None


class Study(Checked, frozen=True):
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
        guarantee holds. By default a third of the sites, and at least 1. The noise grows by
        ``sqrt(m / (m - max_colluders))`` with m sites.

    Examples
    --------
    >>> from skdppca.federated import Study
    >>> Study("icu", {"north": "00" * 32, "south": "11" * 32}, columns=("age", "weight")).n_features
    2
    """

    name: Name
    sites: Annotated[dict[Name, PublicKey], Meta(min_length=1, max_length=MAX_SITES)]
    columns: (
        Annotated[tuple[str, ...], Meta(min_length=1, max_length=MAX_FEATURES)]
        | Annotated[int, Meta(ge=1, le=MAX_FEATURES)]
    )
    unit: Text = "row"
    sparse: bool = False
    missing: Literal["error", "mean"] = "error"
    max_rows: Annotated[int, Meta(ge=1, le=MAX_ROWS)] = 2**20
    max_sites_per_person: Annotated[int, Meta(ge=1)] = 1
    max_colluders: Annotated[int, Meta(ge=1)] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.max_colluders is None:
            force_setattr(self, "max_colluders", max(1, len(self.sites) // 3))
        super().__post_init__()
        m, keys, names = len(self.sites), self.sites.values(), self.columns
        check("sites", self.sites, len(set(keys)) == m, "give each site a key of its own")
        distinct = isinstance(names, int) or len(set(names)) == len(names)
        check("columns", names, distinct, "give different names, or how many there are")
        check("unit", self.unit, self.unit != "interaction", "name what a record is")
        j, colluders = self.max_sites_per_person, self.max_colluders
        check("max_sites_per_person", j, j <= m, "give a number from 1 to that of the sites")
        others = max(1, m - 1)
        remedy = "give a number from 1 to that of the other sites"
        check("max_colluders", colluders, colluders <= others, remedy)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.columns if isinstance(self.columns, int) else len(self.columns)

    def person_epsilon(self, epsilon: float, delta: float) -> float:
        """Price a run of this cost for a person with records at `max_sites_per_person` sites.

        Proof. Let that person's records come one site after the other. Each step is mu-GDP, so j
        of them are ``j mu``-GDP (group privacy; Dong, Roth and Su 2022, Theorem 2.14). The root of
        j would not do: the sites add one sum, and the person moves all of it.
        """
        if self.max_sites_per_person == 1:
            return epsilon
        return epsilon_of(self.max_sites_per_person * mu_of(epsilon, delta), delta)


def check(name: str, value: Any, valid: bool, remedy: str) -> None:
    """Refuse a public value that is not valid."""
    if not valid:
        raise ValueError(f"{name}={value!r} is not valid; {remedy}")
