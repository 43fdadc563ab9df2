"""A process that compiles programs into the cache on disk for another one, `compile_many`."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import IO

from ..dialects.modules.parsing import parse_module
from ..errors import TenonError
from .compile import compile


def main() -> None:
    """Serves the process that started this one, until that closes the pipe."""
    # What else writes there would be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    serve(sys.stdin, answers)


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Reads a request in each line: `text` or `module`, the program and the options, both as JSON."""
    decoder = json.JSONDecoder()
    answers.write("ready\n")
    answers.flush()
    for line in requests:
        kind, _, rest = line.partition(" ")
        program, end = decoder.raw_decode(rest)
        options = json.loads(rest[end:])
        # The other process compiles what is wrong too, and says so.
        with suppress(TenonError):
            compile(program if kind == "text" else parse_module(program), **options).close()
        answers.write("done\n")
        answers.flush()
