"""The types of gridlane: ``cuda`` is loaded when it is used, which type checkers do not see."""

from gridlane import cuda as cuda
from gridlane.launch.current import Using as device  # noqa: N813  # it reads as a verb

__all__ = ["device"]
__version__: str
