"""Code of CUDA C++ and PTX that kernels in Python are linked with."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gridlane.core.errors import ArgumentError, UnsupportedError
from gridlane.cuda.host import settings
from gridlane.cuda.kernels.signatures import parse
from gridlane.frontends.python.device_function import ForeignFunction

if TYPE_CHECKING:
    from gridlane.frontends.ptx import PtxModule


class LinkableCode:
    """Code in memory.

    Args:
        data: the text, or a file object with it.
        name: for messages of compilers.
        setup_callback, teardown_callback: unsupported.
    """

    kind: ClassVar[str] = ""
    default_name: ClassVar[str] = ""

    def __init__(
        self,
        data: str | bytes | io.StringIO | io.BytesIO,
        name: str | None = None,
        setup_callback: Callable[..., Any] | None = None,
        teardown_callback: Callable[..., Any] | None = None,
        nrt: bool = False,
    ) -> None:
        for which, given in ("setup", setup_callback), ("teardown", teardown_callback):
            if given is not None and not callable(given):
                raise TypeError(f"{which}_callback must be callable")
            if given is not None:
                raise UnsupportedError(
                    f"{type(self).__name__}: {which}_callback: linked functions become part of a "
                    "kernel, and there is no module of their own that is loaded"
                )
        self._data, self._name = data, name
        self.setup_callback = self.teardown_callback = None
        self.nrt = nrt

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self._name or self.default_name

    @property
    def data(self) -> str | bytes:
        """The code."""
        given = self._data
        return given.getvalue() if isinstance(given, (io.StringIO, io.BytesIO)) else given

    @property
    def text(self) -> str:
        """The code as text."""
        data = self.data
        return data if isinstance(data, str) else data.rstrip(b"\0").decode()

    @property
    def identity(self) -> tuple[Any, ...]:
        """All that its functions follow from."""
        return self.kind, self.name, self.data

    @property
    def unit(self) -> tuple[str, str]:
        """The text, and the name of its file or ""."""
        return self.text, self._path

    @staticmethod
    def from_path(path: str | os.PathLike[str]) -> LinkableCode:
        """The code in a file, whose ending determines its kind.

        Raises:
            ValueError: no kind has the ending.
        """
        ending = Path(path).suffix
        if ending not in _ENDINGS:
            raise ValueError(f"Unknown extension: {ending}")
        cls = _ENDINGS[ending]
        data = Path(path).read_bytes()
        linkable_code = cls(
            data.decode() if cls in (CUSource, PTXSource) else data, Path(path).stem
        )
        linkable_code._path = os.fspath(path)
        return linkable_code

    _path = ""

    @classmethod
    def from_path_or_obj(cls, path_or_obj: Any) -> LinkableCode:
        """A file's code; code is returned unchanged."""
        return path_or_obj if isinstance(path_or_obj, LinkableCode) else cls.from_path(path_or_obj)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path or self.name}>"


class PTXSource(LinkableCode):
    """PTX."""

    kind = "ptx"
    default_name = "<unnamed-ptx>"


_READS_FILES = re.compile("include|import|embed")
"""In CUDA C++ that reads other files."""
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
"""Between the parts of a logical line."""


class CUSource(LinkableCode):
    """CUDA C++."""

    kind = "cu"
    default_name = "<unnamed-cu>"

    @property
    def unit(self) -> tuple[str, str]:
        known = self._path or self._name or "linked.cu"
        return self.text, known if known.endswith(".cu") else f"{known}.cu"

    @property
    def options(self) -> tuple[str, ...]:
        """Of the compiler: the folders of headers that numba's setting names."""
        folders = settings.CUDA_NVRTC_EXTRA_SEARCH_PATHS.split(os.pathsep)
        return tuple([f"-I{each}" for each in folders if each])

    @property
    def identity(self) -> tuple[Any, ...]:
        plain = self.kind, *self.unit, self.options
        if not _READS_FILES.search(_SPLICE.sub("", self.text)):
            return plain
        # What it includes may have changed: the PTX tells, which is in the disk cache.
        return *plain, load((self,)).text.identity


class Fatbin(LinkableCode):
    """Machine code of several GPUs, which nothing but a GPU runs."""

    kind = "fatbin"
    default_name = "<unnamed-fatbin>"


class Cubin(LinkableCode):
    """A GPU's machine code."""

    kind = "cubin"
    default_name = "<unnamed-cubin>"


class Archive(LinkableCode):
    """A library of machine code."""

    kind = "library"
    default_name = "<unnamed-archive>"


class Object(LinkableCode):
    """An object file."""

    kind = "object"
    default_name = "<unnamed-object>"


class LTOIR(LinkableCode):
    """NVIDIA's own intermediate code."""

    kind = "ltoir"
    default_name = "<unnamed-ltoir>"


_ENDINGS: dict[str, type[LinkableCode]] = {
    ".cu": CUSource,
    ".ptx": PTXSource,
    ".fatbin": Fatbin,
    ".cubin": Cubin,
    ".a": Archive,
    ".o": Object,
    ".ltoir": LTOIR,
}


class LinkerError(RuntimeError):
    """Code that cannot be linked."""


def links_of(given: Any) -> tuple[LinkableCode, ...]:
    """The code that ``link=`` names: files, code in memory, or several of these.

    Raises:
        RuntimeError: a file's ending is of no kind; LinkerError if there is no such file.
        UnsupportedError: it is machine code.
    """
    if given is None:
        return ()
    if isinstance(given, (str, os.PathLike, LinkableCode)):
        given = (given,)
    if not isinstance(given, Iterable):
        raise ArgumentError(f"link= takes files, CUSource and PTXSource, not {given!r}")
    items = list(given)
    if isinstance(given, (set, frozenset)):  # of no order, and the order names units
        items.sort(key=str)
    return tuple(map(_link, items))


def _link(given: Any) -> LinkableCode:
    if not isinstance(given, LinkableCode):
        given = _from_file(os.fspath(given))
    if not isinstance(given, (CUSource, PTXSource)):
        raise UnsupportedError(
            f"link={given!r}: machine code and LTO-IR run on NVIDIA GPUs alone; give the CUDA C++ "
            "(.cu, cuda.CUSource) or the PTX (.ptx, cuda.PTXSource) that they are made of"
        )
    return given


def _from_file(path: str) -> LinkableCode:
    ending = Path(path).suffix
    if not ending:
        raise RuntimeError("Don't know how to link file with no extension")
    if ending not in _ENDINGS:
        raise RuntimeError(f"Don't know how to link file with extension {ending}")
    if not os.path.exists(path):
        raise LinkerError(f"{path} not found")
    return LinkableCode.from_path(path)


def declare_device(
    name: str, sig: Any, link: Any = None, use_cooperative: bool = False, abi: str = "numba"
) -> ForeignFunction:
    """Declare a function of CUDA C++ or PTX, which kernels call on every device.

    Args:
        name: its symbol; C++ mangles names, but those of ``extern "C"``.
        sig: the types of its result and arguments: ``"int32(float32, CPointer(int32))"``.
        link: the code that defines it: files (``.cu``, ``.ptx``), ``cuda.CUSource``,
            ``cuda.PTXSource``, or several of these. Without it, a kernel's ``jit(link=...)`` does.
        use_cooperative: accepted without effect.
        abi: ``numba``: the first parameter is the address of the result, and the function returns
            an int that is 0; ``c``: a plain function of C.

    Raises:
        TypeError: the signature has no return type.

    >>> import numpy as np
    >>> from gridlane import cuda
    >>> text = '''
    ... .version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .func (.param .b32 result) triple(.param .b32 x) {
    ...     .reg .b32 %r<3>;
    ...     ld.param.b32 %r1, [x];
    ...     mul.lo.s32 %r2, %r1, 3;
    ...     st.param.b32 [result], %r2;
    ...     ret;
    ... }'''
    >>> triple = declare_device("triple", "int32(int32)", link=PTXSource(text), abi="c")
    >>> @cuda.jit
    ... def kernel(x):
    ...     x[cuda.grid(1)] = triple(x[cuda.grid(1)])
    >>> x = np.arange(4, dtype=np.int32)
    >>> kernel[1, 4](x)
    >>> x
    array([0, 3, 6, 9], dtype=int32)
    """
    signature = parse(sig)
    if signature.return_type is None:
        raise TypeError(
            f"Return type must be provided for device declarations: {name} is declared as {sig}, "
            "without one"
        )
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}; it is 'numba' or 'c'")
    return ForeignFunction(name, signature, abi, links_of(link), load, _call)


def _call(*call: Any) -> Any:
    """Translate a call of such a function; this loads the frontend of PTX, 70 modules."""
    from gridlane.frontends.foreign.calls import call_foreign

    return call_foreign(*call)


def load(links: tuple[Any, ...]) -> PtxModule:
    """One module of PTX: CUDA C++ is compiled, and units are linked by their names.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
        PtxError: a text is no PTX, or units do not go together; located.
    """
    from gridlane.compiler.units import linked  # few programs need it

    options = tuple(dict.fromkeys(each for link in links for each in getattr(link, "options", ())))
    return linked([link.unit for link in links], options, (), "")[0]
