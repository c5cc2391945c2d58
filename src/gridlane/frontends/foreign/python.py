"""The text of Python functions, for other frontends."""

from gridlane.frontends.python.literals import BINARY
from gridlane.frontends.python.reads import reads_of
from gridlane.frontends.python.scope import lookup
from gridlane.frontends.python.source import FunctionSource, source_of

__all__ = ["BINARY", "FunctionSource", "lookup", "reads_of", "source_of"]
