"""What a user permits or asks of the schedule of a nest."""

from __future__ import annotations

from gridlane.core.frozen import frozen


@frozen
class Hints:
    """Permissions and wishes.

    Attributes:
        tensor_cores: products of matrices may add in the order of matrix instructions.
    """

    tensor_cores: bool = False
