"""What a contest found: each workload's best peer, the ratio to it, and the share of the machine's limit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from .limits import Limits
from .workloads import WORKLOADS, Workload
from .workloads.convolutions import MEAN_GOAL as CONVOLUTIONS_MEAN_GOAL
from .workloads.rows import MEAN_GOAL as ROWS_MEAN_GOAL

TENON = "tenon"

MEAN_GOALS: Mapping[str, float] = {"conv2d": CONVOLUTIONS_MEAN_GOAL, "rows": ROWS_MEAN_GOAL}
"""The least geometric mean of the ratios of a group."""

PEAK_GOAL = 0.9
"""The least share of the machine's limit for square products from 256 up."""


@dataclass(frozen=True)
class Finding:
    """One workload's figures, in seconds."""

    workload: Workload
    times: Mapping[str, float]
    """The least time of each contender. Those of Tenon on other devices are no peers."""
    medians: Mapping[str, float]
    share_of_limit: float
    """What the work takes at least on this machine, over what it took Tenon."""
    share_goal: float | None

    @property
    def tenon(self) -> float:
        return self.times[TENON]

    @property
    def best_peer(self) -> str | None:
        """The fastest contender beside Tenon; None where there is no other one."""
        peers = {name: time for name, time in self.times.items() if not name.startswith(TENON)}
        return min(peers, key=lambda name: peers[name]) if peers else None

    @property
    def ratio(self) -> float | None:
        """The best peer's time over Tenon's: above 1, Tenon is faster."""
        return None if self.best_peer is None else self.times[self.best_peer] / self.tenon

    @property
    def median_ratio(self) -> float | None:
        """The least median among the peers over Tenon's median."""
        peers = [time for name, time in self.medians.items() if not name.startswith(TENON)]
        return min(peers) / self.medians[TENON] if peers else None

    @property
    def is_met(self) -> bool:
        """Whether ratio and share reach their goals, to two decimal places."""
        reached = self.ratio is None or round(self.ratio, 2) >= self.workload.goal
        return reached and (self.share_goal is None or round(self.share_of_limit, 2) >= self.share_goal)


def read_reports(paths: Iterable[Path]) -> dict[str, Any]:
    """Returns the contents of a contest's file, or of several ones of parts of a contest as one."""
    merged: dict[str, Any] = {}
    for path in paths:
        report = json.loads(path.read_text())
        if not merged:
            merged = report
            continue
        if report["threads"] != merged["threads"]:
            raise ValueError(f"{path}: {report['threads']} threads, the others have {merged['threads']}")
        merged["outcomes"] |= report["outcomes"]
    return merged


def limits_of(report: Mapping[str, Any]) -> Limits:
    """Returns the machine's limits as the contest measured them."""
    limits = report["limits"]
    rates = {int(nbytes): rate for nbytes, rate in limits["copied_bytes_per_second"].items()}
    return Limits(limits["threads"], limits["flops_per_second"], rates)


def findings_of(report: Mapping[str, Any]) -> list[Finding]:
    """Returns the figures of the workloads that were timed, in the order of the table."""
    limits = limits_of(report)
    findings: list[Finding] = []
    for workload in WORKLOADS:
        times = report["outcomes"].get(workload.name, {}).get("times", {})
        if TENON not in times:
            continue
        least = {name: each["minimum"] for name, each in times.items()}
        medians = {name: each["median"] for name, each in times.items()}
        share = limits.least_seconds(workload.flops, workload.nbytes) / least[TENON]
        findings.append(Finding(workload, least, medians, share, _share_goal(workload, limits)))
    return findings


def errors_of(report: Mapping[str, Any]) -> dict[str, str]:
    """Returns what went wrong, by workload."""
    return {name: outcome["error"] for name, outcome in report["outcomes"].items() if outcome["error"]}


def _share_goal(workload: Workload, limits: Limits) -> float | None:
    if limits.threads > 1 or workload.kind != "matmul" or len(workload.result_shape) > 2:
        return None
    m, n = workload.result_shape
    is_square = m == n and m % 256 == 0
    return PEAK_GOAL if is_square or workload.name == "matmul 4096x1024x1024" else None


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of one or more positive numbers."""
    return exp(sum(map(log, values)) / len(values))


def mean_ratios(findings: Sequence[Finding]) -> dict[str, float]:
    """Returns the geometric mean of the ratios of each group."""
    groups: dict[str, list[float]] = {}
    for finding in findings:
        if finding.ratio is not None:
            groups.setdefault(finding.workload.group, []).append(finding.ratio)
    return {group: geometric_mean(ratios) for group, ratios in groups.items()}
