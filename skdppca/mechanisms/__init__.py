"""Frozen mechanisms: each states its cost before it sees data."""
