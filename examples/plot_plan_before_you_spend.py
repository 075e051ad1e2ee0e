"""
How many people do I need?
==========================

You want five components of a table with 50 columns. Whether a private PCA finds them depends on the
number of people and on epsilon. The planner simulates the methods on made-up rows, so you can ask
before you have permission to touch the data, and as often as you like.
"""

# %%
# One question
# ------------
#
# The planner reads no data. It needs public guesses: how many people, how many columns, and how
# fast the variances fall (here the j-th is 1 / j).

import matplotlib.pyplot as plt

from skdppca.planner import plan
from skdppca.plotting import PlanDisplay

first = plan(5000, 50, 5, epsilon=1.0, methods=["ResidualGauss"])
print(first.sentence())

# %%
# Many questions at once
# ----------------------
#
# The curve shows how much of what ``PCA`` captures the components capture, from a tenth to ten
# times the people. The dashed line marks the question above.

PlanDisplay.from_plan(first, over="n_samples")
plt.show()

# %%
# People or epsilon?
# ------------------
#
# Ten times the people give about the same accuracy at a tenth of epsilon, which is a far stronger
# promise.

for n, epsilon in ((5_000, 1.0), (50_000, 0.1), (5_000, 0.1)):
    found = plan(n, 50, 5, epsilon=epsilon, methods=["ResidualGauss"])
    print(f"{n:6} people, epsilon {epsilon:g}: {found.rows[0].percent} captured")

# %%
# Too few people?
# ---------------
#
# Ask for fewer components, or give the fit what is public: a norm bound and a mean save budget.

for k in (5, 3, 1):
    found = plan(1000, 50, k, epsilon=0.5, methods=["ResidualGauss"])
    print(
        f"1000 people, epsilon 0.5, components: {k}, captured: {found.rows[0].percent}"
    )

# %%
# .. admonition:: Takeaway
#
#    Ten times the people buy a tenth of epsilon.
#    The planner reads no data, so ask as often as you like.
#    Below the line of 90 %, choose fewer components, give public bounds, or wait for more people.
