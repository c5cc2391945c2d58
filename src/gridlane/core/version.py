"""The version, which is also part of the cache keys."""

from __future__ import annotations

VERSION = "0.1.0"
