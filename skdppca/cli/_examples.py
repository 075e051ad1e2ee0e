"""What every ``--help`` ends with: commands that can be run as they stand, and what they do."""

from __future__ import annotations

# By the words of the command. Each begins with what it does.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (("see a release of public data in demo/", "skdppca demo --force"),),
    "fit": (
        ("list what is wrong with a table", "skdppca fit patients.csv --check"),
        (
            "release components of a table that is sorted by patient",
            "skdppca fit q1.csv --groups patient_id --unit patient --scale private -k 5 "
            "--epsilon 1 --delta 1e-6 --ledger patients.ledger --cohort 2026-Q1 --out release/",
        ),
        (
            "join the patients of the next quarter to it, who alone are charged",
            "skdppca fit q2.csv --groups patient_id --unit patient --cohort 2026-Q2 "
            "--update release/ --epsilon 1 --delta 1e-6 --ledger patients.ledger",
        ),
    ),
    "plan": (
        ("compare all methods", "skdppca plan --n 5000 --d 200 --k 5 --epsilon 1"),
        (
            "the same from a tenth to ten times of epsilon",
            "skdppca plan --n 5000 --d 20 --k 3 --over epsilon",
        ),
    ),
    "sample": (("draw 1000 rows", "skdppca sample release/ -n 1000 -o synthetic.csv"),),
    "declare": (
        ("begin a file of answers", "skdppca declare --template > context.yaml"),
        (
            "state them in a copy of a release",
            "skdppca declare release/ --context context.yaml --out stated/",
        ),
    ),
    "ledger": (
        ("open an account", "skdppca ledger create patients.ledger --epsilon 2 --delta 1e-6"),
        ("list the charges, and what is left", "skdppca ledger show patients.ledger"),
    ),
    "ledger create": (
        (
            "a budget for all rows of every patient",
            "skdppca ledger create patients.ledger --epsilon 2 --delta 1e-6 --unit patient",
        ),
    ),
    "ledger charge": (
        (
            "count what another tool released",
            'skdppca ledger charge patients.ledger --epsilon 0.5 --delta 0 --label "counts"',
        ),
    ),
    "ledger show": (("list the charges", "skdppca ledger show patients.ledger"),),
    "ledger verify": (
        ("check a release with it", "skdppca ledger verify patients.ledger --report release/"),
    ),
    "merge": (
        (
            "merge releases of people who are in one of them each",
            "skdppca merge north/ south/ --disjoint --out both/",
        ),
    ),
    "report": (("print what a release found", "skdppca report release/ --details"),),
    "verify": (
        ("check files and charge", "skdppca verify release/ --ledger patients.ledger"),
        ("read the result with a program", "skdppca verify release/ --json"),
    ),
    "completion": (
        ("complete commands in this shell", 'eval "$(skdppca completion bash)"'),
        ("the same in zsh", 'eval "$(skdppca completion zsh)"'),
    ),
    "site": (
        ("make the keys of a site", "skdppca site key our_site/"),
        ("list questions and charges", "skdppca site show our_site/"),
    ),
    "site key": (("make the keys of a site", "skdppca site key our_site/"),),
    "site init": (
        (
            "agree to a study",
            "skdppca site init our_site/ --study study.json --name A --table a.csv --analyst "
            "KEY --epsilon 1 --delta 1e-6",
        ),
    ),
    "site run": (("answer questions", "skdppca site run our_site/ --server host:9092"),),
    "site show": (("list questions and charges", "skdppca site show our_site/"),),
}
