"""numpy, imported at its first use, and types of its arrays: `plan` reads declarations, and computes no array."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Booleans", "Numbers", "Random", "Unsigned", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]
    Random = np.random.Generator
    Unsigned = NDArray[np.unsignedinteger]
else:

    class _OnUse(ModuleType):
        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self.__name__), name)
            setattr(self, name, value)  # asked once
            return value

    np = _OnUse("numpy")
    Numbers = Booleans = Random = Unsigned = Any
