"""The table on paper: what ranks of many send is what can be counted by hand."""

import sys
from collections.abc import Iterator
from math import log2

import pytest
from tenon.benchmarks.ranks import on_paper
from tenon.benchmarks.ranks.messages import Messages

FACE = 96 * 96 * 4
PARAMETERS = (64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10 + 1) * 4


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in on_paper.EXAMPLES_BY_NAME:
        monkeypatch.syspath_prepend(str(on_paper.EXAMPLES / name))
    yield
    for name in ("heat", "matmul", "ranks", "shards", "train"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("ranks", [64, 1024])
def test_a_rank_of_many_sends_what_is_counted_by_hand(ranks: int):
    heat = on_paper.sent_by(on_paper.heat, ranks, ranks)
    # Of a rank in the middle, which has six neighbours.
    assert (heat.rounds, heat.nbytes) == (6, 6 * FACE)
    side = int(ranks**0.5)
    product = on_paper.sent_by(on_paper.matmul, ranks, ranks)
    assert (product.rounds, product.nbytes) == (2 * log2(side), 2 * (side - 1) * 512 * 512 * 4)
    training = on_paper.sent_by(on_paper.training, ranks, ranks)
    # All gradients and the loss are one sum.
    assert training.rounds == 2 * log2(ranks)
    assert training.nbytes == pytest.approx(2 * PARAMETERS * (ranks - 1) / ranks)


def test_one_rank_sends_nothing():
    for make in on_paper.EXAMPLES_BY_NAME.values():
        assert on_paper.sent_by(make, 1, 1) == on_paper.Sent(0, 0)


def test_messages_take_their_latency_and_their_bytes():
    assert Messages(2e-6, 1e9).seconds(3, 1e6) == pytest.approx(6e-6 + 1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["other"], "'other' is none of heat, matmul, data_parallel"), (["--ranks", "8"], "are powers of 4")],
)
def test_what_is_not_there_is_an_error(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["on_paper", *arguments])
    with pytest.raises(SystemExit):
        on_paper.main()
    assert message in capsys.readouterr().err
