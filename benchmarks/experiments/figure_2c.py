"""Figure 2c of Düngler & Sanyal: figure 1a with k-DP-Ojas.

The paper's: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = 0.01, sigma = 0.025, 50 trials.
Chosen here: lambda_2 = 5; the grid of n; fewer trials from n = 3e4 on (`_settings.FEWER_TRIALS`).
The settings are figure 1a's, so its trials are copied where they are there.
"""

from _figures import GRID, Figure, Panel, run
from _settings import Setting

FIGURE = Figure(
    "figure_2c",
    r"Spiked model, $\sigma$ = 0.025, with k-DP-Ojas",
    (
        Panel(
            "k = 2, d = 200, eigenvalues 10 and 5",
            "records n",
            {n: Setting(n=n) for n in GRID},
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
