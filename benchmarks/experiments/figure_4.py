"""Figure 4 of Düngler & Sanyal (Appendix G): Gaussian rows; against n, the eigengap and d.

The paper's: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials.
Chosen here: rows of covariance V diag(10, lambda_2) V^T + sigma^2 I with sigma = 1; lambda_2 = 5
where it does not vary; n = 10000 where it does not; gamma = 1 for the printed methods (the paper:
O(1)), and the printed clipping norm of the spiked model; all grids; fewer trials from n = 3e4 on
(`_settings.FEWER_TRIALS`).
"""

from dataclasses import replace

from _figures import GRID, Figure, Panel, run
from _settings import Setting

GAUSSIAN = Setting(sigma=1.0, data="gaussian")

FIGURE = Figure(
    "figure_4",
    r"Gaussian rows, k = 2, $\sigma$ = 1",
    (
        Panel(
            "d = 200, eigenvalues 10 and 5",
            "records n",
            {n: replace(GAUSSIAN, n=n) for n in GRID},
        ),
        Panel(
            r"n = 10000, d = 200, $\lambda_1$ = 10",
            r"eigengap $\lambda_2 - \lambda_3$",
            {gap: replace(GAUSSIAN, eigenvalues=(10.0, gap)) for gap in (0.1, 0.3, 1.0, 3.0, 9.0)},
        ),
        Panel(
            "n = 10000, eigenvalues 10 and 5",
            "dimension d",
            {d: replace(GAUSSIAN, d=d) for d in (25, 50, 100, 200, 400)},
        ),
    ),
)

if __name__ == "__main__":
    run(FIGURE)
