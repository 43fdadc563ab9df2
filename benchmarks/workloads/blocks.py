"""Parts of models, a long elementwise chain, reductions over each axis, and a transpose."""

from .workload import Workload

_HEADS = (8, 12, 128, 64)
_TOKENS, _WIDTH, _HIDDEN = 256, 768, 3072
_CUBE = (512, 512, 64)
_CHAIN = (4096, 1024)
_TRANSPOSED = (4096, 1024)


def _without(axis: int) -> tuple[int, ...]:
    return tuple(extent for number, extent in enumerate(_CUBE) if number != axis)


BLOCKS = (
    Workload(
        "attention 8x12x128x64",
        "blocks",
        "attention",
        dict.fromkeys(("q", "k", "v"), _HEADS),
        _HEADS,
        1.0,
        4 * 8 * 12 * 128 * 128 * 64,
    ),
    Workload(
        f"transformer MLP {_TOKENS}x{_WIDTH}x{_HIDDEN}",
        "blocks",
        "mlp",
        {
            "x": (_TOKENS, _WIDTH),
            "gamma": (_WIDTH,),
            "beta": (_WIDTH,),
            "w1": (_WIDTH, _HIDDEN),
            "b1": (_HIDDEN,),
            "w2": (_HIDDEN, _WIDTH),
            "b2": (_WIDTH,),
        },
        (_TOKENS, _WIDTH),
        1.0,
        4 * _TOKENS * _WIDTH * _HIDDEN,
    ),
    Workload("chain of 12 ops 4096x1024", "blocks", "chain", {"x": _CHAIN, "y": _CHAIN}, _CHAIN, 1.0),
    *(
        Workload(
            f"sum over axis {axis} of 512x512x64",
            "blocks",
            "reduce_sum",
            {"x": _CUBE},
            _without(axis),
            1.0,
            parameters={"axis": axis},
        )
        for axis in range(3)
    ),
    Workload(
        "transpose 4096x1024",
        "blocks",
        "transpose",
        {"x": _TRANSPOSED},
        (_TRANSPOSED[1], _TRANSPOSED[0]),
        1.0,
    ),
)
