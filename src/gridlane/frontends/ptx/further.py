"""The parameters of a kernel's code that its PTX does not name. Launches read this without the
translation."""

from __future__ import annotations

FURTHER = "data", "heap", "gridid", "launches"
"""What a kernel gets behind its own arguments, each under its number there: the module's memory,
that of malloc, the number of the launch, and the memory for launches of its own."""
