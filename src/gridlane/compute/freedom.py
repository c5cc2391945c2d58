"""What the user permits of results."""

from __future__ import annotations

from gridlane.core.frozen import frozen


@frozen
class Freedom:
    """Permissions.

    Attributes:
        fastmath: every freedom with floating-point operations.
        any_order: sums of products may be added in the order of matrix instructions.
        rounds: factors of float32 may be rounded to TF32 for them.
    """

    fastmath: bool = False
    any_order: bool = False
    rounds: bool = False
