"""
From a question to a report
===========================

The clinic wants to publish three components of the lab values of 4000 patients. Its privacy officer
has to say yes or no, and cannot read code. This page goes all the way: plan, choose epsilon, fit,
check, write the report, and verify it as the officer would.
"""

# %%
# Plan
# ----
#
# The planner reads no data. It needs public numbers: about 4000 patients, ten columns, three
# components, and private scales.

import matplotlib.pyplot as plt

from skdppca.planner import plan
from skdppca.plotting import PlanDisplay

found = plan(4000, 10, 3, epsilon=1.0, scale="private", methods=["DPGauss"])
print(found.sentence())
PlanDisplay.from_plan(found, over="epsilon")
plt.show()

# %%
# Choose epsilon
# --------------
#
# Epsilon 1 is enough for the question: more would hardly show more. What does it promise to a
# patient?

from skdppca.plotting import PrivacyCurveDisplay

PrivacyCurveDisplay.from_epsilon(1.0, delta=1e-6)
plt.show()

# %%
# The curve bounds every attack. An attacker who accepts 5 % false alarms detects at most 8 % of
# patients. Without the release it would be 5 %.
#
# Fit
# ---
#
# The ledger holds the budget that the clinic agreed on for these patients: epsilon 2. The patients
# of this page are made up.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from skdppca import PrivacyLedger, PrivatePCA
from skdppca.datasets import make_gaussian

usual = {  # a usual value of each column, and how far people differ
    "age": (52, 16), "bmi": (26, 4.5), "systolic": (128, 17), "diastolic": (79, 10),
    "glucose": (98, 21), "hba1c": (5.6, 0.8), "ldl": (122, 34), "hdl": (54, 15),
    "triglycerides": (130, 70), "creatinine": (0.9, 0.2),
}  # fmt: skip
centre, spread = np.array(list(usual.values())).T
shape = make_gaussian(4000, 10, [5.0, 3.0, 2.0], 0.7, random_state=1).X
patients = pd.DataFrame(centre + spread * shape, columns=list(usual)).round(1)

folder = tempfile.TemporaryDirectory()
ledger = PrivacyLedger.create(
    Path(folder.name) / "clinic.ledger", epsilon=2.0, delta=1e-6, exist_ok=True
)
pca = PrivatePCA(
    n_components=3, epsilon=1.0, delta=1e-6, scale="private", accountant=ledger
)
pca.fit(patients)

# %%
# Is it good enough?
# ------------------
#
# Look before you publish. Looking costs nothing, because all of this is released already.

from skdppca.plotting import ScreeDisplay

ScreeDisplay.from_estimator(pca)
plt.show()

# %%
# Write the report
# ----------------
#
# Some facts no software can know: who asks, why this epsilon, what else was published. State them
# in a ``Context``. The report prints "Not stated" for whatever is missing. It asks ten questions,
# the ten below ``why_this_epsilon``: each is answered by yes, no or unknown, with a text beside it
# if you like. The figures rest on six of the answers, and the box on top is green only if these are
# as they should be.

from skdppca.report import Context, ReleaseReport

report = ReleaseReport(
    pca,
    title="Lab values of the clinic",
    context=Context(
        curator="The clinic of this tutorial",
        purpose="Show which lab values go together",
        why_this_epsilon="Planned before the fit: more would hardly show more.",
        fitted_before="no",
        several_units=("no", "The table has one row for each patient."),
        chosen_by_looking="no",
        other_releases=("no", "The ledger of the clinic has this charge alone."),
        facts_are_public=(
            "yes",
            "Only the names of the columns, which the clinic prints.",
        ),
        raw_data_access=(
            "yes",
            "Two statisticians of the clinic, on its own server.",
        ),
        timing=("no", "The fit ran where nobody outside could watch it."),
        rows_shown=("no", "Only the components are published."),
        all_charged=("yes", "This was the only fit of these data."),
        collection_needed=("yes", "The values are taken for the treatment."),
    ),
)
files = report.write(Path(folder.name) / "release")
print(*files, sep="\n")

# %%
# The page ``report.html`` begins with a box to decide on, and goes on with pictures. In a notebook
# you see them at once:

report

# %%
# Verify it
# ---------
#
# The officer gets the folder and the ledger, and checks them without the data. In a shell this is
# ``skdppca verify release/ --ledger clinic.ledger``.

from skdppca.report import verify

print(
    verify(
        Path(folder.name) / "release", ledger=Path(folder.name) / "clinic.ledger"
    )
)

# %%
# .. admonition:: What you have now
#
#    A release that somebody else can decide on and check, without the data and without you.
#    No check can tell whether the facts in the context are true. The officer has to ask.
