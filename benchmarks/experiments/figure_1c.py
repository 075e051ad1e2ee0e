"""Figure 1c of Düngler & Sanyal: spiked model, zeta^2 against the dimension d.

The paper's: k = 2, lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials, n fixed.
Chosen here: n = 10000; sigma = 0.025; lambda_2 = 5; the grid of d.
"""

from _figures import WITHOUT_OJAS, Figure, Panel, run
from _settings import Setting

FIGURE = Figure(
    "figure_1c",
    "Spiked model, growing dimension",
    (
        Panel(
            r"n = 10000, k = 2, eigenvalues 10 and 5, $\sigma$ = 0.025",
            "dimension d",
            {d: Setting(d=d) for d in (25, 50, 100, 200, 400)},
            WITHOUT_OJAS,
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
