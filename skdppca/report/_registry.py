"""A draft for the registry of deployments of differential privacy.

The form is `schemas/deployments-schema.yaml` of https://github.com/opendp/deployments-registry-data
(commit 3e9c812, 2026). What only a person can say is marked TODO, so that the draft fails the
registry's own test until it is completed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._text import shown
from .._text.digits import up
from ..privacy.installing import how_to_install
from ..privacy.units import protected_together
from ._sections import status_of, words

VARIANTS = {"gaussian": "Approximate DP", "pure": "Pure DP", "approximate": "Approximate DP"}

COMPOSITION = {
    "gaussian": "Gaussian differential privacy: the squares of mu add up (Dong, Roth and Su 2022, "
    "Corollary 3.3).",
    "pure": "Pure differential privacy: the epsilons add up.",
}
OTHERWISE = "Privacy loss distributions and Renyi divergences, computed by dp-accounting."


def writer() -> Any:
    """PyYAML's module; what a fit asks for before it is charged, for it writes a draft.

    Raises
    ------
    ImportError
        Without PyYAML.
    """
    try:
        import yaml
    except ImportError:
        raise ImportError(
            f"The draft for the registry needs PyYAML. Install it: {how_to_install('report')}"
        ) from None
    return yaml


def registry(document: Mapping[str, Any]) -> str:
    """The draft as YAML text."""
    text: str = writer().safe_dump(
        _entry(shown(document)), sort_keys=False, allow_unicode=True, width=100, line_break="\n"
    )
    return text


def _entry(document: Mapping[str, Any]) -> dict[str, Any]:
    facts, context, fits = document["guarantee"], document["context"], document["fits"]
    core, say = fits[0]["core"], words()

    def said(name: str, what: str) -> str:
        answer = context.get(name)
        return answer if answer else f"TODO: {what}"

    receipt = core["receipt"]
    title = document["title"]
    slug = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-") or "release"
    methods = ", ".join(fit["core"]["method"] for fit in fits)
    arrays = ", ".join(one["name"] for fit in fits for one in fit["core"]["released"])
    details = (
        [say.worst_case(facts["adjacency"], "...", facts["unit"])] if not facts["attack"] else []
    )
    if facts["mu"] is not None:
        details.append(f"Gaussian differential privacy with mu = {up(float(facts['mu']), 4)}.")
    sites = core["details"].get("sites")
    unprotected = "The number and names of the columns, and all parameters."
    if facts["adjacency"] == "replace-one":
        unprotected += " The number of records."
    entry: dict[str, Any] = {
        "url_slug": f"TODO: {slug}",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [said("curator", "who publishes this")],
                "intended_use": said("purpose", "what the release is for"),
                "data_product_type": "Machine learning model",
                "data_product_region": said("region", "where the data subjects live"),
                "description": f"A differentially private PCA. Released arrays: {arrays}.",
                "publication_date": receipt["time"][:10] if receipt else "TODO: YYYY-MM-DD",
            },
            "dp_variant": {
                "variant_name": VARIANTS.get(facts["variant"], "Approximate DP"),
                "data_domain": said("subjects", "whose data they are"),
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": facts["unit"],
                "privacy_unit_details": _neighbours(facts),
                "privacy_parameters": _parameters(facts),
                "privacy_parameters_details": " ".join(details) or "None.",
            },
            "deployment_model": {
                "model_name": "Central" if sites is None else "Federated",
                "actors": say.CENTRAL
                if sites is None
                else say.federated(
                    len(sites), str(core["details"].get("honest_sites", say.NOT_STATED))
                ),
                "release_type": "One release" if len(fits) == 1 else "Many releases",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Components are sorted by variance and their signs are fixed.",
                "composition": COMPOSITION.get(facts["variant"], OTHERWISE),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": said(
                    "fitted_before",
                    "what was fitted on these data before, and how parameters were chosen",
                ),
                "mechanisms": (
                    f"{methods} of skdppca {core['software'].get('skdppca', '')}. "
                    f"{say.FLOATING_POINT} {say.RANDOMNESS}"
                ),
                "justification": said("why_this_epsilon", "why this epsilon, and this unit"),
            },
            "administrative": {
                "sources": f"Release {fits[0]['release_id']}",
                "registry_authors": ["TODO: who submits this"],
            },
        },
    }
    if not facts["private"]:
        entry["deployment"]["administrative"]["notes"] = "TODO: this release is NOT PRIVATE."
    elif status_of(document) == "void":
        entry["deployment"]["administrative"]["notes"] = f"TODO: {say.STATUS['void']}."
    return entry


def _neighbours(facts: Mapping[str, Any]) -> str:
    what = protected_together(facts["unit"])
    if facts["adjacency"] == "replace-one":
        return f"Neighbouring data sets differ in {what}, exchanged for any other."
    return f"Neighbouring data sets differ in {what}, added or removed."


def _parameters(facts: Mapping[str, Any]) -> dict[str, float]:
    if not facts["private"]:
        return {}
    delta = {} if facts["variant"] == "pure" else {"delta": facts["delta"]}
    return {"epsilon": facts["epsilon"], **delta}
