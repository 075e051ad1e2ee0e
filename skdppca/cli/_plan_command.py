"""``skdppca plan``: what to expect of each method. It reads no data and charges nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from inspect import signature

from .._text import aligned
from .._text.digits import percent_captured
from ..decomposition import METHODS, PrivatePCA
from ..decomposition.methods import NAMES
from ..planner import Plan, plan
from ..privacy import epsilon_of, mu_of
from . import _parameter_options as take
from ._json import PlanDocument
from ._parameter_options import Command, flag, option, parameters
from ._terminal import progress

# Axes of a table, by the planner's names.
AXES = {"epsilon": "epsilon", "n": "n_samples"}

# Its parameters are options of the same name.
QUESTION = signature(plan)

# The end of a spectrum whose last variance is that of all other components, too.
REPEATED = ",..."


@dataclass(kw_only=True)
class PlanCommand(Command):
    """Predict what each method finds; reads no data.

    Parameters
    ----------
    n_samples : int
        Number of records; a public guess is enough.
    n_components : int, float or str
        A number, a share of the variance, auto or mle, as for fit.
    epsilon : float
        Privacy budget of one fit, or of all --releases together.
    releases : int
        Fits of equal cost that share epsilon; the plan is for one of them.
    group_size : int or None
        Plan for records that are groups of about ROWS rows.
    is_sparse : bool
        Plan for a sparse table.
    spectrum : str or None
        Assumed variances: flat, power-law (default), spiked, or numbers with commas between them.
        A last ',...' repeats the last number.
    methods : list of str or None
        Only these (default: all).
    over : str or None
        Add a table from a tenth to ten times this value.

    Examples
    --------
    skdppca plan --n 5000 --d 200 --k 5 --epsilon 1
    skdppca plan --n 5000 --d 20 --k 3 --over epsilon
    """

    n_samples: int = option("--n", required=True, metavar="N")
    n_features: int = option("--d", of=plan, required=True, metavar="D")
    n_components: int | float | str = option(
        "-k", "--k", "--components", type=take.components, required=True, metavar="K"
    )
    epsilon: float = option(of=plan)
    delta: float = option(of=PrivatePCA, sentences=2)
    releases: int = option(type=take.at_least(1, "releases"), default=1, metavar="N")
    adjacency: str = option(of=PrivatePCA)
    group_size: int | None = option("--groups", of=plan, metavar="ROWS")
    shared: float = option(of=plan, metavar="SHARE")
    scale: str | None = option(of=plan)
    missing: str = option(of=plan)
    tails: str = option(of=PrivatePCA)
    gap: str = option(of=PrivatePCA)
    is_sparse: bool = flag("--sparse")
    spectrum: str | None = option()
    methods: list[str] | None = option(
        "--method", nargs="+", type=take.method, choices=sorted(NAMES.keys() - METHODS.keys())
    )
    over: str | None = option(choices=[*AXES])
    json: bool = flag()

    def run(self) -> None:
        """Simulate, and print the table."""
        epsilon = self.epsilon if self.releases == 1 else _each(self)
        with progress() as show:
            show("simulating", 0.0)
            own = {
                "epsilon": epsilon,
                "spectrum": _spectrum(self.spectrum, self.n_features),
                "progress": lambda method, share: show(f"simulating {method}", share),
            }
            found = plan(**parameters(self, QUESTION) | own)
            plans: tuple[Plan, ...] = ()
            if self.over is not None:
                axis = AXES[self.over]
                plans = found.along(axis, lambda one, share: show(f"{axis}: {one}", share))
        if self.json:
            print(PlanDocument.of(found, plans, self.releases))
            return
        if self.releases > 1:
            print(
                f"Epsilon {self.epsilon:g} at delta {self.delta:g} covers {self.releases} fits of "
                f"--epsilon {epsilon:g} --delta {self.delta:g} each. The plan is for one of them."
                "\n"
            )
        print(found)
        if self.over is not None:
            print(f"\n{_table(plans, self.over)}")


def _each(options: PlanCommand) -> float:
    """Epsilon of each of several fits of equal cost, rounded down."""
    epsilon, delta, n = options.epsilon, options.delta, options.releases
    part = epsilon_of(mu_of(epsilon, delta) / math.sqrt(n), delta) if delta else epsilon / n
    return float(Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(part))


def _spectrum(text: str | None, d: int) -> str | list[float] | None:
    """Read the name of a spectrum, or numbers with commas between them, the last one repeated."""
    try:
        found = [float(number) for number in (text or "").removesuffix(REPEATED).split(",")]
    except ValueError:
        return text
    more = d - len(found) if text and text.endswith(REPEATED) else 0
    return found + [found[-1]] * more


def _table(plans: Sequence[Plan], over: str) -> str:
    """The table of the first method of each plan."""
    rows = [(over, "captured", "half of all fits", "method")]
    for one in plans:
        first = one.rows[0]
        low, high = map(percent_captured, (first.captured_low, first.captured_high))
        found = ("nothing", "-") if one.finds_nothing else (first.percent, f"{low} to {high}")
        value = f"{one.epsilon:.3g}" if over == "epsilon" else str(one.n_samples)
        rows.append((value, *found, first.method))
    return "\n".join(aligned(rows))
