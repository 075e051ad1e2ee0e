"""
My table has words, numbers and empty cells: what now?
======================================================

A survey of 4000 people (made up here) has a region in words, columns in different units, and empty
cells. A private PCA needs numbers. Whatever makes them must not learn from the people, because what
a step learns is not protected.
"""

# %%
# The table
# ---------
#
# Age and income go together, and so do commuting and living in the north. A tenth of the incomes is
# missing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdppca import PrivacyAccountant, PrivatePCA
from skdppca.plotting import LoadingsDisplay
from skdppca.report import ReleaseReport

rng = np.random.default_rng(0)
n = 4000
REGIONS = ["north", "south", "west"]
region = rng.choice(REGIONS, n, p=[0.5, 0.3, 0.2])
age = rng.normal(45, 12, n)
survey = pd.DataFrame(
    {
        "region": region,
        "age": age,
        "income": 1500 * age + rng.normal(0, 9000, n),
        "commute": 20 + 30 * (region == "north") + rng.normal(0, 10, n),
        "children": rng.poisson(1.2, n),
    }
)
survey.loc[rng.random(n) < 0.1, "income"] = np.nan

# %%
# From words to columns
# ---------------------
#
# ``categories`` lists the regions that exist. You know them without looking at the answers, so the
# encoder learns nothing. Without the list, a rare answer would show in the number of columns.
# ``sparse_output=False`` keeps the table dense: private scales need that.

encoder = OneHotEncoder(
    categories=[REGIONS], sparse_output=False, handle_unknown="ignore"
)
columns = ColumnTransformer(
    [("region", encoder, ["region"])],
    remainder="passthrough",
    verbose_feature_names_out=False,
).set_output(transform="pandas")

# %%
# One fit
# -------
#
# ``scale="private"`` stands in for a ``StandardScaler``, and ``missing="mean"`` for an imputer. The
# fit charges both to its own budget. An accountant charges the fit to the budget of the study.

study = PrivacyAccountant(epsilon=2.0, delta=1e-6)
model = make_pipeline(
    columns,
    PrivatePCA(
        n_components=2,
        epsilon=1.0,
        delta=1e-6,
        scale="private",
        missing="mean",
        accountant=study,
    ),
).fit(survey)
print(model[-1].privacy_)

# %%
# What was found
# --------------
#
# The columns keep their names. One component has age and income, the other one has commuting and
# the regions.

LoadingsDisplay.from_estimator(model, title=None)
plt.show()

# %%
# The report
# ----------
#
# ``ReleaseReport`` writes the page of this release. It is given the pipeline, so that it can name a
# step that learned from the people, and the columns as the steps name them. Here no step learned.

report = ReleaseReport(model, title="Survey")
report

# %%
# .. admonition:: Takeaway
#
#    Give the encoder its categories, and let the fit find scales and fill empty cells.
#    A scaler or an imputer in front would learn from the people, and void the guarantee.
#    ``ReleaseReport(model)`` names such steps, and keeps the names of the columns.
