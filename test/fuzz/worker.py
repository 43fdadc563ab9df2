"""
A process that runs programs: it reads one line of JSON for each, and writes one for what came of it.

It has a cache folder of its own. A crash ends it, which who reads its lines sees.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys


def main() -> None:
    faulthandler.enable()
    # What else writes to the standard output must not come between the lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from .runner import run_one

    for line in sys.stdin:
        asked = json.loads(line)
        outcome = run_one(asked["kind"], asked["seed"], asked["given"])
        answers.write(json.dumps(outcome.plain()) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
