"""
Checks the subjects of commits: `area: what it does`, in at most 72 characters and without a full stop. Those
that are older than the rule are left as they are.

    python test/commit_subjects.py
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

MOST = 72

LAST_BEFORE = "ebe36dc"
"""The last commit that the rule did not hold for."""

AREAS = r"[a-z][a-z0-9_./-]*(, [a-z][a-z0-9_./-]*)*"
SUBJECT = re.compile(rf"{AREAS}: [^A-Z\s].*[^.\s]")


def problem_of(subject: str) -> str | None:
    """Returns what is wrong with a subject, None if nothing is."""
    if len(subject) > MOST:
        return f"{len(subject)} characters, expected at most {MOST}"
    if not SUBJECT.fullmatch(subject):
        return "expected `area: what it does`, in small letters and without a full stop"
    return None


def subjects() -> list[str]:
    """Returns the subjects of the commits that the rule holds for; none outside of a repository."""
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "cat-file", "-e", f"{LAST_BEFORE}^{{commit}}"], capture_output=True)
    if known.returncode:  # A source archive, or a clone without that much history.
        return []
    command = [*git, "log", "--no-merges", "--format=%s", f"{LAST_BEFORE}..HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> int:
    wrong = [(subject, problem) for subject in subjects() if (problem := problem_of(subject))]
    for subject, problem in wrong:
        print(f"commit '{subject}': {problem}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
