"""The benchmark on a GPU: how calls are counted, who takes part, what the report says. There need be none."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tenon.backends.registry import get_backend
from tenon.benchmarks.gpu.__main__ import main
from tenon.benchmarks.gpu.contenders import NoGpuError, driver_version, gpu_backend, versions_of
from tenon.benchmarks.gpu.contest import contest
from tenon.benchmarks.gpu.queued import Batch, Queued, batch_of
from tenon.benchmarks.gpu.report import gpu_text
from tenon.benchmarks.harness import Times
from tenon.benchmarks.peers import numpy_peer
from tenon.benchmarks.workloads import Workload
from tenon.test.gpus import opencl_as_gpu

SUM = Workload("sum", "rows", "reduce_sum", {"x": (3, 4)}, (3,), 1.0, parameters={"axis": 1})


def on_numpy(workload: Workload, arguments: Any) -> Queued:
    (call,) = numpy_peer.contenders(workload, arguments, 1).values()
    return Queued(call, lambda _: None, np.asarray)


def wrong(workload: Workload, arguments: Any) -> Queued:
    return Queued(lambda: workload.result() * 0 + 1000, lambda _: None, np.asarray)


def failing(workload: Workload, arguments: Any) -> Queued:
    raise RuntimeError("no kernel image\nfor this device")


def test_a_batch_queues_all_calls_and_waits_once():
    events: list[str] = []
    work = Queued(lambda: events.append("call"), lambda _: events.append("wait"), np.asarray)
    batch = batch_of(work, seconds=0)
    assert batch.count == 1
    events.clear()
    Batch(batch.run, 1).run()
    assert events == ["call", "wait"]
    assert Batch(batch.run, 4).times_of_a_call(Times(4.0, 2.0, 8.0)) == Times(1.0, 0.5, 2.0)
    assert batch_of(work, seconds=0.01).count > 1


def test_answers_are_checked_and_failures_told():
    outcome = contest(SUM, {"tenon": on_numpy, "torch": wrong, "jax": failing}, 1, 1e-5, 1.0)
    assert outcome["times"].keys() == {"tenon"} and outcome["times"]["tenon"]["minimum"] > 0
    assert "sum: torch is off by up to" in outcome["errors"]["torch"]
    assert outcome["errors"]["jax"] == "RuntimeError: no kernel image"


def test_the_report_has_rates_and_ratios():
    def outcome(**times: float) -> dict[str, Any]:
        return {"times": {name: {"minimum": time} for name, time in times.items()}, "errors": {}}

    report = {
        "device": "G",
        "driver": "1.2",
        "versions": {"tenon": "this one", "torch": "9"},
        "missing": {"jax": "jax finds no GPU"},
        "work": {
            name: {"flops": flops, "nbytes": 10**9} for name, flops in (("a", 10**12), ("b", 0), ("c", 0))
        },
        "outcomes": {"a": outcome(tenon=1.0, torch=2.0), "b": outcome(tenon=0.5), "c": outcome(torch=1.0)},
    }
    report["outcomes"]["c"]["errors"]["tenon"] = "wrong"
    text = gpu_text(report)
    assert "G, driver 1.2;" in text and "Left out: jax (jax finds no GPU)." in text
    assert "| a | 1.00 s | 1.00 TFLOP/s | 2.00 s | 2.00 |" in text
    assert "| b | 500 ms | 2 GB/s | none |  |" in text
    assert "| c | none |  | 1.00 s |  |" in text
    assert "Geometric mean of the ratios: 2.00; 1 of 1 at least 1." in text
    assert "- c, tenon: wrong" in text


def test_without_a_gpu_nothing_is_timed(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pyopencl")
    monkeypatch.setattr("tenon.benchmarks.gpu.contenders.get_backend", lambda _: get_backend("opencl"))
    with pytest.raises(NoGpuError, match="is no GPU; TENON_OPENCL_DEVICE chooses another"):
        gpu_backend()
    with pytest.raises(SystemExit, match=r"^benchmarks.gpu: the OpenCL device .+ is no GPU"):
        main([])
    monkeypatch.setattr("tenon.benchmarks.gpu.contenders.get_backend", lambda _: opencl_as_gpu())
    assert gpu_backend() is opencl_as_gpu()
    assert driver_version(opencl_as_gpu())


def test_libraries_that_are_not_there_or_find_no_gpu_are_left_out(monkeypatch: pytest.MonkeyPatch):
    no_gpu = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False), __version__="9")
    monkeypatch.setitem(sys.modules, "torch", no_gpu)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(default_backend=lambda: "cpu"))
    versions, missing = versions_of(["torch", "jax"])
    assert versions == {"tenon": "this one"}
    assert missing == {"torch": "torch finds no GPU", "jax": "jax finds no GPU"}
    monkeypatch.setitem(sys.modules, "jax", None)
    assert "jax" in versions_of(["jax"])[1]
    no_gpu.cuda.is_available = lambda: True
    assert versions_of(["torch"])[0]["torch"] == "9"
