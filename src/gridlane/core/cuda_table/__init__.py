"""The table of CUDA's interface: its functions, enumerations, structures and other names.

Generated from it: the Python functions, the headers, the C libraries, the page of functions. The
rows are text files, read at their first use.
"""

from gridlane.core.cuda_table.functions import Function, Parameter, functions
from gridlane.core.cuda_table.layout import Field, Layout, layout
from gridlane.core.cuda_table.names import Callback, Enum, aliases, callbacks, constants, enums
from gridlane.core.cuda_table.types import CType, ctype

__all__ = [
    "CType", "Callback", "Enum", "Field", "Function", "Layout", "Parameter", "aliases",
    "callbacks", "constants", "ctype", "enums", "functions", "layout",
]  # fmt: skip
