"""`python -m tenon.test.fuzz`: runs random programs for some minutes, or one of them again."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .campaign import Campaign
from .kinds import KINDS
from .runner import run_one

OUT = Path(__file__).parents[2] / "out" / "fuzz"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tenon.test.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument(
        "--seed", type=int, help="the first seed (default: from the clock), or that of a program"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many processes (default: 2)")
    parser.add_argument("--kinds", help=f"a list of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--kind", choices=list(KINDS), help="runs the one program of this kind and --seed")
    parser.add_argument(
        "--with", nargs="*", default=[], metavar="NAME=VALUE", dest="given", help="choices of that program"
    )
    parser.add_argument(
        "--output", type=Path, default=OUT, help="the folder for failures (default: out/fuzz)"
    )
    arguments = parser.parse_args()
    if arguments.kind is not None and arguments.seed is None:
        parser.error("--kind needs --seed")
    arguments.kinds = arguments.kinds.split(",") if arguments.kinds else list(KINDS)
    if unknown := [kind for kind in arguments.kinds if kind not in KINDS]:
        parser.error(f"--kinds: {unknown[0]!r} is not one of {', '.join(KINDS)}")
    return arguments


def main() -> int:
    arguments = parsed()
    if arguments.kind is not None:
        given = {name: int(value) for name, _, value in (each.partition("=") for each in arguments.given)}
        outcome = run_one(arguments.kind, arguments.seed, given)
        print(f"{outcome.status} ({outcome.way}, {outcome.ops} ops)\n{outcome.detail}".strip())
        return int(outcome.is_failure)
    seed = arguments.seed if arguments.seed is not None else int(time.time()) % 1_000_000 * 1_000
    print(f"seed {seed}, kinds {','.join(arguments.kinds)}", flush=True)
    campaign = Campaign(arguments.output)
    campaign.run(arguments.kinds, seed, arguments.minutes, arguments.jobs)
    print(f"\n{campaign.summary()}")
    return int(bool(campaign.failures))


if __name__ == "__main__":
    sys.exit(main())
