"""
Convolutions of one image, as in the first blocks of ResNet and MobileNet, in both layouts; and of several
images, as no cache holds them.
"""

from .workload import Workload

GOAL, MEAN_GOAL = 0.95, 1.05
"""The least ratio of each, and of their geometric mean."""


def _conv(
    name: str,
    channels: int,
    out: int,
    window: int,
    groups: int,
    layout: str,
    extent: int = 56,
    images: int = 1,
) -> Workload:
    inner = channels // groups
    if layout == "NCHW":
        shapes = {"x": (images, channels, extent, extent), "w": (out, inner, window, window)}
        result = (images, out, extent, extent)
    else:
        shapes = {"x": (images, extent, extent, channels), "w": (window, window, inner, out)}
        result = (images, extent, extent, out)
    return Workload(
        f"conv2d {name} {layout}",
        "conv2d" if images == 1 else "conv2d of several images",
        "conv2d",
        shapes,
        result,
        GOAL,
        2 * images * extent * extent * out * inner * window * window,
        {"layout": layout, "groups": groups, "padding": window // 2},
    )


_SINGLE = tuple(
    _conv(name, channels, out, window, groups, layout)
    for name, channels, out, window, groups in (
        ("3x3 64->64", 64, 64, 3, 1),
        ("1x1 64->256", 64, 256, 1, 1),
        ("depthwise 3x3 128", 128, 128, 3, 128),
    )
    for layout in ("NCHW", "NHWC")
)

_SEVERAL = (
    _conv("3x3 64->64, 8 images", 64, 64, 3, 1, "NCHW", images=8),
    _conv("3x3 256->256, 8 images of 14x14", 256, 256, 3, 1, "NCHW", extent=14, images=8),
)

CONVOLUTIONS = (*_SINGLE, *_SEVERAL)
