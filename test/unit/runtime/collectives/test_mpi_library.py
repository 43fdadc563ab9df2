import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tenon import DeviceError, MissingExtraError
from tenon.runtime.collectives.mpi_library import (
    check_launcher,
    check_size,
    is_launched,
    ranks_launched,
    start_mpi,
)

OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
MPICH = {"PMI_SIZE": "4", "PMI_RANK": "2"}


def fake_mpi(**fields: Any) -> Any:
    world = SimpleNamespace(Get_size=lambda: fields.get("size", 1))
    return SimpleNamespace(
        get_vendor=lambda: ("MPICH", (5, 0, 2)),
        Is_initialized=lambda: True,
        Query_thread=lambda: fields.get("level", 3),
        THREAD_MULTIPLE=3,
        COMM_WORLD=world,
    )


def put(monkeypatch: pytest.MonkeyPatch, mpi: Any) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(rc=SimpleNamespace()))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)
    for name in (*OPEN_MPI, *MPICH):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("environment", [OPEN_MPI, MPICH, {"PMIX_RANK": "0"}])
def test_a_launcher_is_known_by_its_variables(environment: dict[str, str]):
    assert is_launched(environment)


def test_without_them_there_is_none():
    assert not is_launched({"PATH": "/bin"}) and ranks_launched({"PATH": "/bin"}) is None


def test_what_says_no_number_of_ranks_is_passed_over():
    assert ranks_launched({"PMI_SIZE": "many", "PMIX_SIZE": "3"}) == 3


def test_the_launcher_of_the_same_mpi_is_taken():
    check_launcher("Open MPI", OPEN_MPI)
    check_launcher("MPICH", MPICH)
    check_size("MPICH", 4, MPICH)
    check_size("MPICH", 7, {})


def test_the_launcher_of_open_mpi_with_another_mpi_is_an_error():
    message = (
        r"^rank 1: mpiexec is that of Open MPI, and mpi4py is built for MPICH \(hint: the mpiexec of MPICH"
    )
    with pytest.raises(DeviceError, match=message):
        check_launcher("MPICH", OPEN_MPI)


def test_ranks_that_do_not_see_one_another_are_an_error():
    message = r"^rank 2: mpiexec started 4 ranks, and Open MPI, which mpi4py is built for, knows 1 \(hint: "
    with pytest.raises(DeviceError, match=message):
        check_size("Open MPI", 1, MPICH)


def test_without_mpi4py_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    message = r"^sharding: several ranks need mpi4py, .* \(hint: pip install 'tenon\[mpi\]'\)$"
    with pytest.raises(MissingExtraError, match=message):
        start_mpi()


def test_mpi4py_without_a_library_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch):
    put(monkeypatch, None)
    message = (
        r"^sharding: mpi4py finds no library of the MPI that it is built for: .* \(hint: pip install mpich"
    )
    with pytest.raises(DeviceError, match=message):
        start_mpi()


def test_mpi_that_was_started_for_one_thread_is_an_error(monkeypatch: pytest.MonkeyPatch):
    put(monkeypatch, fake_mpi(level=1))
    with pytest.raises(DeviceError, match=r"^sharding: MPICH was started without MPI_THREAD_MULTIPLE"):
        start_mpi()


def test_mpi_that_is_started_already_is_taken(monkeypatch: pytest.MonkeyPatch):
    mpi = fake_mpi()
    put(monkeypatch, mpi)
    assert start_mpi() is mpi
