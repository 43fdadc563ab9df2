"""What tests of several rooms have in common."""

from typing import Any

import pytest
from tenon.frontends.jit.call_forms import FastCalls


@pytest.fixture
def python_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Notes the calls of jitted functions that machine code leaves to Python."""
    seen: list[Any] = []
    run = FastCalls.run

    def noted(self: FastCalls, arguments: Any, named: Any) -> Any:
        seen.append(arguments)
        return run(self, arguments, named)

    monkeypatch.setattr(FastCalls, "run", noted)
    return seen
