"""Settings of the whole process, after the manner of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# The setting lives in the environment: all threads see it there, and new processes inherit it.
VARIABLE = "SKDPPCA_REQUIRE_ACCOUNTANT"


def get_config() -> dict[str, bool]:
    """Return the settings of this process.

    Returns
    -------
    dict
        Settings as keywords of `set_config`.

    Examples
    --------
    >>> import skdppca
    >>> with skdppca.config_context(require_accountant=True):
    ...     skdppca.get_config()
    {'require_accountant': True}
    """
    return {"require_accountant": os.environ.get(VARIABLE, "") not in ("", "0")}


def set_config(*, require_accountant: bool | None = None) -> None:
    """Change the settings of this process.

    Parameters
    ----------
    require_accountant : bool, optional
        Whether a private fit, search or map without an accountant is an error. The error comes
        before the data are read. None keeps the setting, which is False at first.

    See Also
    --------
    config_context : Settings for one block of code.

    Notes
    -----
    Two kinds of release need no accountant under either setting. With ``epsilon=inf`` or a seed
    (`random_state`) a release is not private, and its report says so. `planner.plan` and
    `trials.run_trials` use synthetic or public data. The candidates of a `PrivateSearchCV` are
    covered by the charge for the search.

    The setting is that of the process, not of a thread. It is kept in the environment variable
    ``SKDPPCA_REQUIRE_ACCOUNTANT`` ("1" or "0"). Processes that start later inherit it, the workers
    of joblib among them. A worker that runs already keeps the setting that it started with. To
    cover every process, set the variable before Python starts.

    Examples
    --------
    >>> import skdppca
    >>> skdppca.set_config(require_accountant=True)
    >>> skdppca.DPGauss(epsilon=1.0).fit([[0.0, 1.0], [1.0, 0.0]])
    Traceback (most recent call last):
    ...
    ValueError: accountant=None, ...
    >>> skdppca.set_config(require_accountant=False)
    """
    if require_accountant is None:
        return
    if not isinstance(require_accountant, bool):
        raise TypeError(f"require_accountant={require_accountant!r} must be True or False")
    os.environ[VARIABLE] = str(int(require_accountant))


@contextmanager
def config_context(*, require_accountant: bool | None = None) -> Iterator[None]:
    """Change the settings for one block of code.

    Other threads see the change while the block runs.

    Parameters
    ----------
    require_accountant : bool, optional
        See `set_config`.

    Examples
    --------
    >>> import skdppca
    >>> accountant = skdppca.PrivacyAccountant(epsilon=1.0, delta=1e-6)
    >>> with skdppca.config_context(require_accountant=True):
    ...     pca = skdppca.DPGauss(epsilon=1.0, accountant=accountant).fit([[0.0, 1.0], [1.0, 0.0]])
    """
    before = get_config()
    set_config(require_accountant=require_accountant)
    try:
        yield
    finally:
        set_config(**before)
