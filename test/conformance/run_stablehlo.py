"""
Runs openxla's programs of StableHLO and compares with what they expect:

    git clone https://github.com/openxla/stablehlo
    python test/conformance/run_stablehlo.py stablehlo [--backend reference] [--every 10] [--only scatter]

`stablehlo/testdata` has programs that jax exported, `stablehlo/tests/interpret` the tests of the interpreter.
Programs of quantised types are left out. The counts are printed by outcome and reason, then what
did not pass; the exit code is 1 where fewer than `--least` of 100 pass.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from stablehlo.programs import Outcome, run_file

FOLDERS = ("stablehlo/testdata", "stablehlo/tests/interpret")


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs openxla's programs of StableHLO.")
    parser.add_argument("checkout", type=Path, help="a checkout of openxla/stablehlo")
    parser.add_argument("--backend", default="llvm", help="what the programs run on")
    parser.add_argument("--every", type=int, default=1, help="runs one file of so many")
    parser.add_argument("--only", default="", help="runs files whose names have this in them")
    parser.add_argument("--least", type=float, default=95.0, help="how many of 100 must pass")
    chosen = parser.parse_args()
    total = 0
    failed = False
    for folder in FOLDERS:
        path = chosen.checkout / folder
        if not path.is_dir():
            print(f"{path}: no folder of a checkout of openxla/stablehlo", file=sys.stderr)
            return 2
        files = [each for each in sorted(path.rglob("*.mlir")) if chosen.only in each.name]
        outcomes: dict[str, Outcome] = {}
        for file in files[:: chosen.every]:
            outcomes.update(run_file(file, chosen.backend))
        counts = Counter(outcome.kind for outcome in outcomes.values())
        tried = sum(counts.values()) - counts["left out"]
        total += tried
        share = 100.0 * counts["passed"] / tried if tried else 100.0
        failed = failed or (folder == FOLDERS[0] and share < chosen.least)
        print(f"{folder}: {counts['passed']} of {tried} pass ({share:.1f} %), {dict(counts)}")
        for name, outcome in sorted(outcomes.items()):
            if outcome.kind not in ("passed", "left out"):
                print(f"  {outcome.kind}: {name}: {outcome.reason[:200]}")
    if not total:
        print("no program was found", file=sys.stderr)
        return 2
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
