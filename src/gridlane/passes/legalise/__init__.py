"""Passes that write what a target lacks in what it has."""
