"""Tuning: the fastest of a kernel's schedules, by an estimate and a few measurements."""
