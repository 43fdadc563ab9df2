"""Sharded programs and the examples, on several ranks."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_what_users_write_runs_on_any_number_of_ranks(passes: Callable[..., None], tmp_path: Path):
    """Each reads the checkpoints of those before."""
    for ranks in (1, 2, 3, 4):
        passes(ranks, "arrays.py", tmp_path)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_some_ranks_have_a_mesh_of_their_own(passes: Callable[..., None], ranks: int):
    passes(ranks, "meshes.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_meshes_of_ranks_do_what_every_mesh_must(passes: Callable[..., None], ranks: int):
    passes(ranks, "mesh_contract.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_places_and_columns_are_those_of_one_rank(passes: Callable[..., None], ranks: int):
    passes(ranks, "places.py")


@pytest.mark.parametrize("ranks", [2, 4])
def test_boxes_give_the_bits_of_one_rank(passes: Callable[..., None], ranks: int):
    passes(ranks, "boxes.py")


def test_groups_of_ranks_take_branches_of_their_own(passes: Callable[..., None]):
    passes(4, "branches.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_timelines_of_all_ranks_are_one(passes: Callable[..., None], tmp_path: Path, ranks: int):
    passes(ranks, "timelines.py", tmp_path)


def test_heat_gives_the_bits_of_one_rank(mpiexec: Run, tmp_path: Path):
    sizes = ("--extent", 15, "--steps", 10, "--mesh", 2, 2, "--output", tmp_path)
    ran = mpiexec(4, EXAMPLES / "heat" / "heat.py", *sizes)
    assert ran.status == 0, ran.text
    assert "the same bits as on one rank: True" in ran.text
    assert (tmp_path / "heat.png").stat().st_size > 1000


def test_products_agree_with_one_rank(mpiexec: Run, tmp_path: Path):
    ran = mpiexec(3, EXAMPLES / "matmul" / "matmul.py", "--extent", 65, "--output", tmp_path)
    assert ran.status == 0, ran.text
    assert "within the bound: True" in ran.text
    assert (tmp_path / "matmul.png").stat().st_size > 1000


def test_training_agrees_with_one_rank(mpiexec: Run, tmp_path: Path):
    program = EXAMPLES / "data_parallel" / "ranks.py"
    ran = mpiexec(2, program, "--steps", 5, "--output", tmp_path)
    assert ran.status == 0, ran.text
    assert re.search(r"largest difference of a parameter: \S+ \(rounding allows", ran.text)
    assert (tmp_path / "data_parallel_ranks.png").stat().st_size > 1000
