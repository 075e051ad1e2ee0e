"""Figure 2a of Düngler & Sanyal: spiked model, zeta^2 against the eigengap.

The paper's: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials.
Chosen here: n = 10000; sigma = 0.1, for the caption's "higher noise regime"; the gap lambda_2 -
lambda_3 is moved by the second eigenvalue of the signal, which it equals in this model.
"""

from _figures import Figure, Panel, run
from _settings import Setting

FIGURE = Figure(
    "figure_2a",
    "Spiked model, growing eigengap",
    (
        Panel(
            r"n = 10000, k = 2, d = 200, $\lambda_1$ = 10, $\sigma$ = 0.1",
            r"eigengap $\lambda_2 - \lambda_3$",
            {gap: Setting(eigenvalues=(10.0, gap), sigma=0.1) for gap in (0.1, 0.3, 1.0, 3.0, 9.0)},
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
