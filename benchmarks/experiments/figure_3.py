"""Figure 3 of Düngler & Sanyal (Appendix G): spiked model, varying k and d.

The paper's: lambda_1 = 10, epsilon = 1, delta = 0.01, 50 trials. It shows means with standard
deviations as bars, which the summary has; the picture has medians and intervals, as elsewhere.
Chosen here: n = 10000; sigma = 0.025; the values of k and d; the signal's eigenvalues fall evenly
from 10 to 5. For k = 1 records are rows, whose signal has variance 10 (`make_spiked`).
"""

import numpy as np
from _figures import Figure, Panel, run
from _settings import Setting


def eigenvalues(k: int) -> tuple[float, ...]:
    return tuple(np.linspace(10, 5, k).tolist())


FIGURE = Figure(
    "figure_3",
    "Spiked model, varying k and d",
    tuple(
        Panel(
            rf"d = {d}, n = 10000, $\sigma$ = 0.025",
            "components k",
            {f"k = {k}": Setting(d=d, eigenvalues=eigenvalues(k)) for k in (1, 2, 5)},
        )
        for d in (50, 200)
    ),
)

if __name__ == "__main__":
    run(FIGURE)
