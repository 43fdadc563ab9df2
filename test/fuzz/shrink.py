"""Makes a failing program smaller by its choices: fewer layers, features, ways, as long as it fails alike."""

from __future__ import annotations

import re
from collections.abc import Callable

from .pool import Result

MOST_TRIES = 120


def signature(result: Result) -> str:
    """Returns what failures of one cause have in common: the message without numbers and names."""
    if result["status"] in ("wrong", "differs"):
        return result["status"]
    first = result["detail"].strip().splitlines()[0] if result["detail"].strip() else ""
    if result["status"] in ("crashed", "hung"):
        return f"{result['status']}: {first}"
    first = re.sub(r"^(\w+: )(\S*:\d+:\d+: error: )?", r"\1", first)
    return f"{result['status']}: {re.sub(r'[%@][^ ,:)]+|[0-9]+', '#', first)[:160]}"


def shrunk(result: Result, run: Callable[[dict[str, int]], Result], most_tries: int = MOST_TRIES) -> Result:
    """
    Returns the simplest failing program that is found with the signature of `result`; `run` makes and runs
    one with choices that are given. A choice is made the simplest, or goes half of the way or a step there.
    """
    wanted = signature(result)
    best = result
    tries = 0

    def attempt(given: dict[str, int]) -> bool:
        nonlocal best, tries
        if tries >= most_tries:
            return False
        tries += 1
        found = run(given)
        if found["status"] == "right" or signature(found) != wanted:
            return False
        best = found
        return True

    # All that is settled stays so, also where another choice is made.
    settled = dict(result["given"])
    is_changed = True
    while is_changed and tries < most_tries:
        is_changed = False
        for name in list(best["choices"]):
            if name not in best["choices"]:
                continue
            value, simplest = best["choices"][name]
            while value != simplest:
                for smaller in dict.fromkeys(
                    (simplest, (value + simplest) // 2, value + (1 if simplest > value else -1))
                ):
                    if smaller != value and attempt({**settled, name: smaller}):
                        settled[name] = value = smaller
                        is_changed = True
                        break
                else:
                    break
    return best
