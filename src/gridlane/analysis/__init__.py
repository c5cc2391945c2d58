"""Analyses of the IR: what passes and code generators ask, and what changes nothing."""
