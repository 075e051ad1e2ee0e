"""Figure 1b of Düngler & Sanyal: spiked model, zeta^2 against n, sigma = 0.001.

The paper's: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = 0.01, sigma = 0.001, 50 trials.
Chosen here: lambda_2 = 5; the grid of n; fewer trials from n = 3e4 on (`_settings.FEWER_TRIALS`).
"""

from _figures import GRID, WITHOUT_OJAS, Figure, Panel, run
from _settings import Setting

FIGURE = Figure(
    "figure_1b",
    r"Spiked model, $\sigma$ = 0.001",
    (
        Panel(
            "k = 2, d = 200, eigenvalues 10 and 5",
            "records n",
            {n: Setting(n=n, sigma=0.001) for n in GRID},
            WITHOUT_OJAS,
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
