"""
A process of its own for each machine, which says when a rank there is killed: launchers then kill the others
at once, and not all of them say which rank it was.

    python witness.py FOLDER RANK...

FOLDER has a pipe for each rank, which that rank holds open for writing as long as it lives, and `marks`,
with a byte for each, which is not 0 once that rank ends by itself or ends all: who kills a rank sets none.
The witness prints `!` once it has opened the pipes, and removes the folder at the end. It imports nothing of
Tenon, to start quickly.
"""

import os
import select
import shutil
import sys
from pathlib import Path


def watch(folder: str, ranks: list[int]) -> None:
    """Returns once a rank has ended; prints a line where it was killed."""
    # Its events come in the order in which they happened: the launcher kills the others right after.
    events = select.epoll()
    opened: dict[int, int] = {}
    for rank in ranks:
        number = os.open(f"{folder}/{rank}", os.O_RDONLY | os.O_NONBLOCK)
        opened[number] = rank
        events.register(number, select.EPOLLIN)
    os.write(1, b"!")
    rank = opened[events.poll(maxevents=1)[0][0]]
    if not any(Path(folder, "marks").read_bytes()):
        os.write(2, f"tenon: rank {rank} was killed\n".encode())


if __name__ == "__main__":
    try:
        watch(sys.argv[1], [int(each) for each in sys.argv[2:]])
    finally:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
