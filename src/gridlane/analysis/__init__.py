"""Analyses of the IR, which passes and code generators ask and which change nothing."""
