"""The order of the gallery: from the first look to tuning."""

from sphinx_gallery.sorting import FileNameSortKey

QUESTIONS = (
    "plot_first_private_pca.py",
    "plot_what_epsilon_means.py",
    "plot_plan_before_you_spend.py",
    "plot_attack_scaler.py",
    "plot_attack_repeated_fits.py",
    "plot_one_person_many_rows.py",
    "plot_features_in_units.py",
    "plot_mixed_table.py",
    "plot_registry_over_three_years.py",
    "plot_how_many_components.py",
    "plot_which_method.py",
    "plot_recommender.py",
    "plot_projection_map.py",
    "plot_private_search.py",
)


class ByQuestion(FileNameSortKey):
    """The files listed above first, in that order; others, the tutorials too, by name."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of a file."""
        place = QUESTIONS.index(filename) if filename in QUESTIONS else len(QUESTIONS)
        return place, filename
