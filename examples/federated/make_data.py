"""Write the tables of three made-up hospitals: FOLDER/north/patients.csv and so on."""

import argparse
import csv
from pathlib import Path

import numpy as np
from command import call

MEANS = {
    "age": 60,
    "weight": 78,
    "height": 170,
    "systolic": 130,
    "diastolic": 80,
    "heart_rate": 75,
    "glucose": 105,
    "creatinine": 90,
}
SPREADS = [16, 15, 9, 18, 11, 12, 25, 30]

# How much age, body size and stress of the circulation say about each column.
FACTORS = [
    [0.9, 0.0, -0.2, 0.6, 0.1, -0.2, 0.5, 0.6],
    [-0.1, 0.9, 0.8, 0.3, 0.3, 0.0, 0.3, 0.3],
    [0.0, 0.2, 0.0, 0.6, 0.8, 0.7, 0.1, -0.1],
]

HOSPITALS = {"north": (4000, -0.3), "south": (2500, 0.0), "west": (6000, 0.2)}


def patients(
    generator: np.random.Generator, count: int, older: float
) -> np.ndarray:
    """Draw patients; in some hospitals they are older than in others."""
    factors = generator.normal([older, 0, 0], 1, (count, 3))
    rest = generator.normal(0, 0.4, (count, len(MEANS)))
    table = list(MEANS.values()) + SPREADS * (factors @ np.array(FACTORS) + rest)
    return table.round(1)


def main(folder: Path) -> None:
    """Write ``north/patients.csv`` and so on."""
    generator = np.random.default_rng(20)
    for name, (count, older) in HOSPITALS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        with open(folder / name / "patients.csv", "w", newline="") as file:
            csv.writer(file).writerows(
                [list(MEANS), *patients(generator, count, older).tolist()]
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="such as . for this folder"
    )
    call(main, parser)
