"""Collectives of MPI are what they mean, and what goes wrong ends all ranks with one line."""

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import IS_OPEN_MPI, Run

MOST_SECONDS = 10


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_every_collective_is_what_it_means(passes: Callable[..., None], ranks: int):
    passes(ranks, "every_collective.py")


@pytest.mark.parametrize("ranks", [2, 3])
def test_mpi_does_what_every_world_must(passes: Callable[..., None], ranks: int):
    passes(ranks, "contract.py")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("raises", r"tenon: rank 2 ended all ranks: ValueError: no such file"),
        ("killed", r"tenon: rank 2 was killed$"),
        (
            "ends",
            r"RankError: rank 2 has ended, and rank [01] waits with it for graph\.all_reduce add on "
            r"channel 2 \(program\.py:7:3\)",
        ),
        ("differs", r"RankError: the ranks differ in their program @f: 2 from rank 0$"),
        ("other", r"RankError: rank \d waits for .*, and rank \d has begun .* instead"),
        ("order", r"tenon: rank \d has begun other collectives than ranks [\d, ]+: what they gave is wrong$"),
        (
            "order seen",
            r"RankError: the ranks differ in the collectives that they have begun before the program @f: 2 "
            r"from rank 0$",
        ),
        (
            "called",
            r"RankError: the ranks differ in what they do: rank 2 is at its program @second, and rank 0 at "
            r"its program @first$",
        ),
        (
            "written",
            r"RankError: the ranks differ in what they do: rank 2 is at its program @exp, and rank 0 at its "
            r"program @neg$",
        ),
        (
            "mesh",
            r"TenonError: Mesh: rank \d: a mesh of shape \(4,\) has 4 ranks, and the world has 3 "
            r"\(hint: mpiexec -n 4\)",
        ),
        (
            "mesh ends",
            r"RankError: rank 2 has ended, and rank 1 waits with it for the others' array that is gathered",
        ),
        ("mesh lacks", r"RankError: rank 2 has ended, and rank 1 waits with it for the mesh of ranks 1, 2$"),
        ("mesh differs", r"RankError: the ranks differ in their program @f: 2 from rank 1$"),
        (
            "circle",
            r"RankError: the ranks wait for one another: rank \d waits for the mesh of ranks \d, \d; rank \d "
            r"waits for the mesh of ranks \d, \d; rank \d waits for the mesh of ranks \d, \d$",
        ),
        (
            "circle of two",
            r"RankError: the ranks wait for one another: rank \d waits for the others' array that is "
            r"gathered or resharded; rank \d waits for the others' array that is gathered or resharded$",
        ),
        (
            "extent",
            r"TenonError: shard: rank \d: dim 0 of the array has extent 2, which 3 parts of axes x do "
            r"not share",
        ),
    ],
)
def test_what_goes_wrong_on_a_rank_ends_all_with_a_line_that_names_it(mpiexec: Run, what: str, message: str):
    ran = mpiexec(3, "faults.py", what)
    assert ran.status != 0 and ran.seconds_of_fault < MOST_SECONDS, ran.text
    assert any(re.search(message, line) for line in ran.says), ran.text
    print(f"{what}: {ran.seconds_of_fault:.1f} s")


def test_who_waits_long_for_ranks_that_come_is_no_circle(mpiexec: Run):
    ran = mpiexec(3, "faults.py", "slow")
    assert ran.status == 0 and ran.text.count("passed") == 3, ran.text


def test_a_rank_that_waits_too_long_ends_all(mpiexec: Run):
    ran = mpiexec(2, "faults.py", "waits", TENON_RANK_TIMEOUT="2")
    assert ran.status != 0 and ran.seconds_of_fault < MOST_SECONDS, ran.text
    message = r"rank 0: waited 2 s for graph\.all_reduce add on channel 2 .* of ranks 0, 1"
    assert any(re.search(message, line) for line in ran.says), ran.text


def test_a_limit_that_is_no_time_is_an_error(mpiexec: Run):
    ran = mpiexec(2, "faults.py", "waits", TENON_RANK_TIMEOUT="soon")
    assert "TENON_RANK_TIMEOUT is 'soon', expected a number of seconds above 0" in ran.text


def test_the_launcher_of_another_mpi_is_an_error(mpiexec: Run, tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os
        from tenon.runtime.collectives.mpi_world import mpi_world
        from tenon.errors import TenonError

        for name in [name for name in os.environ if name.startswith(("PMI", "OMPI_", "PRTE"))]:
            del os.environ[name]
        os.environ.update({variables})
        try:
            mpi_world()
        except TenonError as error:
            print("says", error)
    """).replace(
            "{variables}",
            '{"PMI_SIZE": "2", "PMI_RANK": "1"}'
            if IS_OPEN_MPI
            else '{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}',
        )
    )
    ran = mpiexec(1, program)
    vendor = "Open MPI" if IS_OPEN_MPI else "MPICH"
    assert re.search(rf"says rank 1: .*{vendor}.* \(hint: the mpiexec of {vendor}", ran.text), ran.text
