from types import SimpleNamespace
from typing import Any

import pytest
from tenon import RankError
from tenon.runtime.collectives.mpi_request import MpiRequest


class MpiError(Exception):
    pass


class Handle:
    """One that MPI gives up after an error: what asks again is told that it is done."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)

    def Test(self) -> bool:
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer


def request(*handles: Handle) -> MpiRequest:
    owner: Any = SimpleNamespace(mpi=SimpleNamespace(Exception=MpiError), ends=SimpleNamespace(rank=2))
    return MpiRequest(owner, 0, "graph.all_gather on channel 1", (0, 1, 2), handles, None, None)


def test_it_is_done_once_all_messages_are_there():
    asked = request(Handle(True), Handle(False, True))
    assert [asked.get_on(), asked.get_on()] == [False, True] and asked.test()


def test_an_error_that_one_thread_finds_is_raised_for_who_waits():
    asked = request(Handle(False, MpiError("Message\ntruncated")))
    assert [asked.get_on(), asked.get_on()] == [False, True]
    for _ in range(2):
        with pytest.raises(RankError, match=r"^rank 2: graph\.all_gather on channel 1: Message truncated$"):
            asked.test()
