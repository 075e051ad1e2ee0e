"""Rows in files and on the workers of a cluster; `skdppca.records.OPENERS` leads here."""
