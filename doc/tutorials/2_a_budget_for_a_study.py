"""
A budget for a study
====================

A study fits more than once, over months, and often more than one person does it. The charges of
all fits on the same patients add up. A ledger keeps the sum in a file, and refuses the fit that
the agreed budget does not cover.
"""

# %%
# Agree on a budget
# -----------------
#
# Before anybody looks at the data, the study agrees on epsilon 2 in all. ``create`` writes the
# ledger once. With ``exist_ok=True``, a second run of the line opens that ledger and goes on.
# Keep the file where the data are. (This page uses a temporary folder.) These patients have one row
# each. If a patient can have several, pass ``unit="patient"`` here and to every fit
# (:doc:`/guide/units`).

import tempfile
from pathlib import Path

from skdppca import PrivacyLedger

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "clinic.ledger"
ledger = PrivacyLedger.create(path, epsilon=2.0, delta=1e-6, exist_ok=True)
ledger

# %%
# From now on every fit must name the ledger. With this setting, a fit that does not is an error.

import skdppca

skdppca.set_config(require_accountant=True)

# %%
# Two fits
# --------
#
# The ledger is charged before anything is computed from the data. The columns of these made-up
# patients have one scale already.

import pandas as pd

from skdppca import PrivatePCA
from skdppca.datasets import make_gaussian

names = ["age", "bmi", "systolic", "diastolic", "glucose", "hba1c", "ldl", "hdl"]
X = make_gaussian(4000, 8, [5.0, 3.0], 0.7, random_state=1).X
patients = pd.DataFrame(X, columns=names)

first = PrivatePCA(n_components=2, epsilon=1.0, accountant=ledger).fit(patients)
second = PrivatePCA(n_components="auto", epsilon=1.0, accountant=ledger).fit(
    patients
)
ledger

# %%
# Two fits of epsilon 1 cost less than epsilon 2, because the charges of Gaussian noise add up in
# squares. What is left is stated, too.
#
# A refusal
# ---------
#
# A third fit that is too large is refused. It reads nothing and releases nothing, and the error
# names the largest epsilon that still fits.

from skdppca.exceptions import BudgetExceeded

try:
    PrivatePCA(n_components=2, epsilon=1.5, accountant=ledger).fit(patients)
except BudgetExceeded as error:
    print(error)

# %%
# Another day, another session
# ----------------------------
#
# ``PrivacyLedger(path)`` opens the file, and knows all earlier charges. It never makes a new file:
# a lost ledger is an error, and not a fresh budget.

ledger = PrivacyLedger(path)
print(
    f"spent: epsilon {ledger.spent.epsilon:.2f}, left: {ledger.remaining.epsilon:.2f}"
)

third = PrivatePCA(n_components=3, epsilon=0.5, accountant=ledger).fit(patients)

# %%
# The whole account
# -----------------
#
# The picture shows every charge below the line of the budget. ``skdppca ledger show clinic.ledger``
# prints the same as a table.

import matplotlib.pyplot as plt

from skdppca.plotting import LedgerDisplay

LedgerDisplay.from_ledger(ledger)
plt.show()

# %%
# Clean up after this page: the setting holds for a whole Python process.

skdppca.set_config(require_accountant=False)
folder.cleanup()

# %%
# .. admonition:: What you have now
#
#    One file that holds the budget of a study, across sessions and people.
#    A charge is never taken back, not after a crash either.
#    :ref:`sphx_glr_auto_tutorials_3_from_question_to_report.py` makes a release from start to end.
