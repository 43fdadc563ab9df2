"""What tests of calls have in common."""

from typing import Any

import pytest
from tenon.frontends.jit.call_signature import Parameters


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Notes the calls that take the general way, which reads their signature."""
    seen: list[Any] = []
    signature_of = Parameters.signature_of

    def noted(self: Parameters, given: Any, leaves: list[Any]) -> Any:
        seen.append(given)
        return signature_of(self, given, leaves)

    monkeypatch.setattr(Parameters, "signature_of", noted)
    return seen
