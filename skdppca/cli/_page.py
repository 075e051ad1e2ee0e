"""A page that tells a release to people: one file, nothing to load."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

import numpy as np

from ..decomposition import BasePrivatePCA

__all__ = ["page"]

# Rows of the components' table, and features named in each.
MAX_ROWS = 30
LARGEST = 5

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --faint: #666; --line: #ccc; --ground: #fff;
  --good: #e8f1e8; --bad: #fbe3e1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --faint: #a0a0a0; --line: #444;
  --ground: #161616; --good: #1f3323; --bad: #4a1d1a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } td.text, th.text, .skdppca-report td:first-child,
.skdppca-report th:first-child { text-align: left; }
tr.lost { color: var(--faint); }
img { max-width: 100%; background: #fff; padding: .5rem; box-sizing: border-box; }
.guarantee { padding: .7rem 1rem; background: var(--good); }
.guarantee.broken { background: var(--bad); font-weight: 600; }
code { overflow-wrap: anywhere; }
.wide { overflow-x: auto; } .note { color: var(--faint); font-size: .9rem; }
"""

CAPTIONS = {
    "scree.png": "Variance of every component.",
    "components.png": "The components as images, with their share of the total variance.",
}

# Added where the method releases the whole spectrum, without which there is neither.
BARS = (
    " Error bars hold the noise that was added for privacy; below the floor, the noise drowns a "
    "component's direction."
)


def page(pca: BasePrivatePCA, names: Sequence[str], pictures: Mapping[str, bytes]) -> str:
    """The page as HTML text.

    Parameters
    ----------
    pca : fitted private PCA
    names : sequence of str
        Of the features.
    pictures : mapping of str to bytes
        PNG files by name; they are put into the page.
    """
    report = pca.privacy_
    broken = "" if report.private else " broken"
    several = "s" if pca.n_components_ > 1 else ""
    count = f"{pca.n_components_} component{several} of {pca.n_features_in_} features"
    heading = f"{report.method}: {count}"
    captions = dict(CAPTIONS)
    if report.details.get("noise_sd"):
        captions["scree.png"] += BARS
    figures = "".join(
        f'<p><img alt="{html.escape(captions[name])}" src="data:image/png;base64,'
        f'{base64.b64encode(picture).decode()}"></p><p class="note">{captions[name]}</p>'
        for name, picture in pictures.items()
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(heading)}</title><style>{STYLE}</style></head><body>
<h1>{html.escape(heading)}</h1>
<p class="guarantee{broken}">{html.escape(report.guarantee())}</p>
{figures}
<h2>Components</h2>
{_components(pca, names)}
<h2>What it cost</h2>
{report._repr_html_()}
<h2>What is private, and what is not</h2>
{_scope(pca)}
</body></html>
"""


def _components(pca: BasePrivatePCA, names: Sequence[str]) -> str:
    told = pca.privacy_.details.get("alignments")
    rows = []
    for i, component in enumerate(pca.components_[:MAX_ROWS]):
        largest = np.argsort(-np.abs(component))[:LARGEST]
        features = ", ".join(f"{html.escape(str(names[j]))} {component[j]:+.2f}" for j in largest)
        lost = ' class="lost"' if told is not None and told[i] <= 0 else ""
        alignment = "" if told is None else f"<td>{told[i]:.2f}</td>"
        rows.append(
            f"<tr{lost}><td>{i + 1}</td><td>{pca.explained_variance_[i]:.4g}</td>"
            f"<td>{pca.explained_variance_ratio_[i]:.1%}</td>{alignment}"
            f'<td class="text">{features}</td></tr>'
        )
    more = pca.n_components_ - len(rows)
    rest = f"{more} more are in <code>components.csv</code>." if more > 0 else ""
    meaning = ""
    if told is not None:
        meaning = (
            "Alignment: the squared cosine to expect between a component and the one that the "
            "same method would give without noise; 1 is undisturbed, and a component with 0 is "
            "lost in the noise. "
        )
    return (
        '<div class="wide"><table><thead><tr><th></th><th>variance</th><th>share</th>'
        f"{'' if told is None else '<th>alignment</th>'}"
        '<th class="text">largest entries</th></tr></thead><tbody>'
        f"{''.join(rows)}</tbody></table></div>"
        f'<p class="note">{meaning}{rest}</p>'
    )


def _scope(pca: BasePrivatePCA) -> str:
    if not pca.privacy_.private:
        return (
            "<p><strong>Nothing here is protected.</strong> Treat these files as you treat the "
            "data themselves.</p>"
        )
    count = (
        "the number of records, which replace-one neighbours share"
        if pca.adjacency == "replace-one"
        else "a noisy number of records, paid for like the rest"
    )
    return f"""<ul>
<li><strong>The map is private, the transformed rows are not.</strong> Components, mean and
variances may be published under the guarantee above. A row that goes through them is still a
function of that one row.</li>
<li><strong>Anything fitted on the same data before voids it</strong>: a scaler, an imputer, a
selector, columns or bounds chosen by looking. The guarantee covers this fit alone; what else was
released of the same data adds up, which a ledger keeps account of.</li>
<li><strong>Released by design</strong>: the number and names of the features, every parameter, that
the values were valid numbers, and {count}.</li>
<li><strong>Not covered</strong>: how long it took and how much memory, seen by others on the same
machine.</li>
</ul>"""
