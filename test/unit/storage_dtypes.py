"""The types that buffers of kernels hold, by name, as numpy dtypes."""

from __future__ import annotations

from typing import Any

from tenon.dialects.element_types import ELEMENT_TYPES, storage_type
from tenon.semantics.numpy_types import dtype_of

DTYPES: dict[str, Any] = {
    str(type): dtype_of(type).type for type in ELEMENT_TYPES if storage_type(type) == type
}
F8 = [name for name in DTYPES if name.startswith("f8")]
