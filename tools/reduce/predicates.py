"""Ready-made questions for `reduce_module`: each answers whether a module still fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from .failures import Failure, FailureKind
from .trial import ROUNDED, TIMEOUT, Trial, pass_of, pass_place


class FailsLike:
    """True where a trial finds a failure of the class of `failure`. What follows such a pass is not run."""

    def __init__(self, trial: Trial, failure: Failure) -> None:
        self._trial = replace(trial, until=pass_of(failure.where) or trial.until)
        self._failure = failure

    def __call__(self, module: ModuleOp) -> bool:
        found = self._trial.failure(module)
        return found is not None and found.is_like(self._failure)


class WrongNumbers:
    """
    True where a backend and the interpreter disagree about a result, or about what a node holds afterwards,
    on random inputs of one of `seeds`: by more than `tenon-run --compare` allows and, unless `far` is False,
    by more than a hundredth of the largest element, which no order of rounding explains.

    What does not compile, or is refused by the interpreter, is not wrong in this sense.
    """

    def __init__(
        self,
        backend: str = "llvm",
        *,
        pipeline: str | None = None,
        entry: str | None = None,
        seeds: Sequence[int] = (0,),
        far: bool = True,
        timeout: float = TIMEOUT,
        target: str | None = None,
    ) -> None:
        self._trial = Trial(
            backend, pipeline, entry, seeds, verify_each=False, timeout=timeout, target=target
        )
        self._far = far

    def __call__(self, module: ModuleOp) -> bool:
        found = self._trial.failure(module)
        if found is None or found.kind is not FailureKind.NUMBERS:
            return False
        return not (self._far and found.what.startswith(ROUNDED))


class ChangesSemantics:
    """
    True where a pass changes what the interpreter computes; `pass_name` says which one, None means any. The
    passes are those of `pipeline`, else the default ones of `backend`.
    """

    def __init__(
        self,
        pass_name: str | None = None,
        *,
        backend: str = "llvm",
        pipeline: str | None = None,
        entry: str | None = None,
        seeds: Sequence[int] = (0,),
        timeout: float = TIMEOUT,
        target: str | None = None,
    ) -> None:
        self._trial = Trial(backend, pipeline, entry, seeds, False, True, timeout, target, pass_name)
        self._where = None if pass_name is None else pass_place(pass_name)

    def __call__(self, module: ModuleOp) -> bool:
        found = self._trial.failure(module)
        if found is None or found.kind is not FailureKind.SEMANTICS:
            return False
        return self._where in (None, found.where)
