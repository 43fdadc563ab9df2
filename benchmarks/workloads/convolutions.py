"""Convolutions of one image, as in the first blocks of ResNet and MobileNet, in both layouts."""

from .workload import Workload

GOAL, MEAN_GOAL = 0.95, 1.05
"""The least ratio of each, and of their geometric mean."""


def _conv(name: str, channels: int, out: int, window: int, groups: int, layout: str) -> Workload:
    extent = 56
    inner = channels // groups
    if layout == "NCHW":
        shapes = {"x": (1, channels, extent, extent), "w": (out, inner, window, window)}
        result = (1, out, extent, extent)
    else:
        shapes = {"x": (1, extent, extent, channels), "w": (window, window, inner, out)}
        result = (1, extent, extent, out)
    return Workload(
        f"conv2d {name} {layout}",
        "conv2d",
        "conv2d",
        shapes,
        result,
        GOAL,
        2 * extent * extent * out * inner * window * window,
        {"layout": layout, "groups": groups, "padding": window // 2},
    )


CONVOLUTIONS = tuple(
    _conv(name, channels, out, window, groups, layout)
    for name, channels, out, window, groups in (
        ("3x3 64->64", 64, 64, 3, 1),
        ("1x1 64->256", 64, 256, 1, 1),
        ("depthwise 3x3 128", 128, 128, 3, 128),
    )
    for layout in ("NCHW", "NHWC")
)
