"""Numbers in the two float formats that functions are expanded in."""

import struct

from ....dialects.float_layout import F64, FloatLayout


def encoded(value: float, format: FloatLayout) -> int:
    """Returns the bits of the number of the format nearest to `value`."""
    codes = ("<d", "<Q") if format is F64 else ("<f", "<I")
    return struct.unpack(codes[1], struct.pack(codes[0], value))[0]


def rounded(value: float, format: FloatLayout) -> float:
    """Returns the number of the format nearest to `value`."""
    code = "<d" if format is F64 else "<f"
    return struct.unpack(code, struct.pack(code, value))[0]
