"""The version, which compiled code is kept under as well."""

from __future__ import annotations

VERSION = "0.1.0"
