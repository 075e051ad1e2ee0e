"""Steps that two or more methods share; each asks `PrivateData`, and the rest is arithmetic."""
