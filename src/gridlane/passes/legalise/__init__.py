"""Passes that legalise the types and ops that a target lacks."""
