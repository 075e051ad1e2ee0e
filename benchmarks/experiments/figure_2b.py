"""Figure 2b of Düngler & Sanyal: spiked model, zeta^2 against the noise level sigma.

The paper's: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials.
Chosen here: n = 10000; lambda_2 = 5; the grid of sigma.
"""

from _figures import Figure, Panel, run
from _settings import Setting

FIGURE = Figure(
    "figure_2b",
    "Spiked model, varying noise level",
    (
        Panel(
            "n = 10000, k = 2, d = 200, eigenvalues 10 and 5",
            r"noise level $\sigma$",
            {sigma: Setting(sigma=sigma) for sigma in (0.001, 0.01, 0.025, 0.1, 0.3, 1.0)},
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
