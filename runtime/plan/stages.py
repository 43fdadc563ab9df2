"""The texts that a program went through, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache


def stage_makers(
    stages: Iterable[str], texts: Callable[[], Mapping[str, str]]
) -> dict[str, Callable[[], str]]:
    """Returns what makes each stage's text, of those that `texts` makes together, when one is asked for."""
    made = cache(texts)
    return {stage: lambda stage=stage: made()[stage] for stage in stages}


class Stages(Mapping[str, str]):
    """Texts by the name of their stage, in order, each made when first asked for and then kept."""

    def __init__(self, makers: Mapping[str, Callable[[], str]]) -> None:
        self._makers = dict(makers)
        self._texts: dict[str, str] = {}

    def __getitem__(self, stage: str) -> str:
        if stage not in self._texts:
            self._texts[stage] = self._makers[stage]()
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"Stages({', '.join(self._makers)})"
