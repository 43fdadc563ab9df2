"""The functions of `tenon.numpy`."""

__all__: list[str] = []
