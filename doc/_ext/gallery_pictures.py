"""The pictures of the gallery: light and dark ones, and what each shows in words.

The words stand here by the file's name, a text for each picture. They say what a reader sees, and
nothing that another draw of the noise changes.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from dark_pictures import darkened

TEXTS = {
    "plot_first_private_pca": (
        "Four rows of eight digit components: exact ones, then private ones at epsilon 3, 1 "
        "and 0.3. The first ones resemble the exact ones. The smaller epsilon is, the more of"
        " the others are faint and marked as lost.",
    ),
    "plot_what_epsilon_means": (
        "Left, the bound on detected records against false alarms: close to guessing at a "
        "small epsilon, far above it at 10. Right, the captured variance of ten fits for each"
        " epsilon, which rises with epsilon.",
    ),
    "plot_plan_before_you_spend": (
        "The captured variance to expect, by number of records, with a band in which half of all "
        "fits lie. It falls towards few records.",
    ),
    "plot_attack_scaler": (
        "Two curves of detected records against false alarms, with the bound of epsilon 1. "
        "Behind a StandardScaler the attack runs far above the bound. With private scales it "
        "stays below.",
    ),
    "plot_attack_repeated_fits": (
        "Right answers of an attacker against the number of fits that are averaged. They rise"
        " above what one report states, and stay below the bound of all fits together. A line"
        " shows where an accountant of epsilon 2 stops.",
    ),
    "plot_one_person_many_rows": (
        "Two attacks on a patient with many rows, and boxes of missed variance. With one row "
        "as the unit the attack runs far above the bound for a row; with the patient as the "
        "unit it stays below its bound, and more variance is missed.",
    ),
    "plot_features_in_units": (
        "Two heat maps of loadings. Without scaling, the columns with the largest numbers "
        "make up the first component. With private scales, many columns have a part in it.",
    ),
    "plot_mixed_table": (
        "Heat map of the loadings of two components by column. One component has large "
        "entries for age and income, the other one for the commute and the regions.",
    ),
    "plot_registry_over_three_years": (
        "Above, the captured variance of twelve quarters in three ways. While the data drift, the "
        "way that counts all quarters alike falls far below the one that forgets. Below, bars of "
        "the drift: they pass the line at 3 in the second year alone.",
    ),
    "plot_how_many_components": (
        "Three scree plots at three epsilons. The larger epsilon is, the lower is the noise "
        "floor, and the more components stand above it.",
        "Scree plot of a method without a whole spectrum: falling variances above the noise "
        "floor, and a line for the mean of the other directions.",
    ),
    "plot_which_method": (
        "Missed variance of five methods and of PrivatePCA on four kinds of data, a dot a "
        "fit. No method is best on all four. The last line says which method PrivatePCA took.",
    ),
    "plot_recommender": (
        "Hit rate among ten items against epsilon. Two curves, one that hides an item and one"
        " that hides a user, rise from below the line of what is popular towards the line "
        "without privacy.",
    ),
    "plot_projection_map": (
        "Left, a scatter plot with one dot a person, marked as not to be published. Right, a "
        "heat map of noisy counts in the same plane, which shows the same shape.",
        "Ten small heat maps, one for each digit. Their cells lie in different parts of the "
        "same plane.",
    ),
    "plot_private_search": (
        "Captured variance of five components for three ways to spend epsilon 2, a dot a "
        "repetition and a line for the median: one fit with defaults, a private search, and a"
        " grid search.",
    ),
    "1_first_release": (
        "Heat map of the loadings of the released components, by column. Entries in brackets "
        "cannot be told from noise.",
    ),
    "2_a_budget_for_a_study": (
        "Spent epsilon after each charge, in steps below the dashed line of the budget.",
    ),
    "3_from_question_to_report": (
        "Share of the variance to expect of each method against epsilon; a dashed line marks "
        "the planned epsilon.",
        "Bound on detected records against false alarms at epsilon 1, a little above guessing.",
        "Scree plot of the released variances with their error bars, and the noise floor.",
    ),
}

PICTURE = """
.. image:: /{path}
   :alt: {alt}
   :class: sphx-glr-single-img only-{scheme}
"""


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save each open figure in light and in dark; return both with their text."""
    from matplotlib import pyplot

    texts = TEXTS.get(Path(block_vars["src_file"]).stem, ())
    paths = block_vars["image_path_iterator"]
    written = ""
    for number, given in zip(pyplot.get_fignums(), paths, strict=False):
        if len(paths) > len(texts):
            raise ValueError(
                f"{block_vars['src_file']} has more pictures than texts; write in "
                f"{Path(__file__).name} what picture {len(paths)} shows"
            )
        figure, light = pyplot.figure(number), Path(given)
        dark = light.with_stem(f"{light.stem}_dark")
        figure.savefig(light)
        darkened(figure).savefig(dark)
        for scheme, path in (("light", light), ("dark", dark)):
            place = PurePosixPath(path.relative_to(gallery_conf["src_dir"]))
            written += PICTURE.format(path=place, alt=texts[len(paths) - 1], scheme=scheme)
    pyplot.close("all")
    return written
