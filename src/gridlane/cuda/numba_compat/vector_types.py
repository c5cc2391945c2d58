"""numba's table of vector types, ``numba.cuda.vector_types.vector_types``."""

from __future__ import annotations

from gridlane.core.argtypes import VECTORS, ScalarType, VectorType, float16
from gridlane.core.frozen import frozen


@frozen
class _Described:
    """A vector type as numba describes it: ``user_facing_object`` is what kernels call."""

    name: str
    base_type: ScalarType
    attr_names: tuple[str, ...]
    user_facing_object: VectorType

    @property
    def num_elements(self) -> int:
        """The number of components."""
        return self.user_facing_object.count


vector_types = {
    name: _Described(name, kind.element, tuple(kind.fields), kind)
    for name, kind in VECTORS.items()
    if kind.element is not float16
}
