"""The machine that schedules are made for: where its figures come from, and whom they reach."""

from dataclasses import fields, replace

import pytest
import tenon
from tenon.backends.cache_sizes import USUAL_CACHES, host_cache_nbytes
from tenon.backends.interface import DeviceKind
from tenon.backends.llvm.device import CpuDevice, cpu_device
from tenon.backends.llvm.processors import PROCESSORS, host_processor
from tenon.backends.opencl.device import UNLIMITED
from tenon.backends.reference.device import ReferenceDevice
from tenon.compiler.target import target_of
from tenon.errors import TenonError
from tenon.passes.machine.groups import GroupLimits
from tenon.passes.machine.target import DEFAULT_TARGET, Target, usual_registers
from tenon.passes.named_pipelines import NAMED_PIPELINES
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from tenon.passes.registry import ALL_PASSES
from xdsl.passes import ModulePass

ODD = Target(
    vector_nbytes=64,
    vector_registers=24,
    l1_nbytes=12345,
    l2_nbytes=678901,
    l3_nbytes=23456789,
    n_threads=7,
    multiplies_bytes=True,
    lacks=("low.tile_fma",),
)
OF_TARGET = {field.name for field in fields(Target)} - {"lacks", "groups"}

MATMUL = """
func.func @f(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  func.return %c : tensor<1024x1024xf32>
}"""


def told(pass_: ModulePass) -> dict[str, object]:
    """Returns what a pass was told of the machine."""
    return {field.name: getattr(pass_, field.name) for field in fields(pass_) if field.name in OF_TARGET}


def all_passes(target: Target) -> list[ModulePass]:
    return [pass_ for phase in phases(target).values() for pass_ in phase]


def test_every_pass_is_told_of_the_machine_what_it_has_options_for():
    found = {pass_.name: told(pass_) for pass_ in all_passes(ODD)}
    for name, options in found.items():
        assert options == {option: getattr(ODD, option) for option in options}, name
    asked = {option for options in found.values() for option in options}
    assert asked == OF_TARGET, "a figure that no pass asks for"
    assert set(found["expand-tiles"]) == {"vector_nbytes", "vector_registers"}


def test_options_of_the_machine_have_the_same_defaults_everywhere():
    for name, load in ALL_PASSES.items():
        for field in fields(load()):
            if field.name in OF_TARGET and name != "map-work-groups":
                assert field.default == getattr(DEFAULT_TARGET, field.name), f"{name}: {field.name}"


def test_named_pipelines_take_the_machine_as_options():
    target = replace(ODD, lacks=())
    options = " ".join(
        f"{name.replace('_', '-')}={getattr(target, name)}".lower() for name in sorted(OF_TARGET)
    )
    figures = ("vector_nbytes", "vector_registers", "l3_nbytes")
    low = " ".join(f"{name.replace('_', '-')}={getattr(target, name)}" for name in figures)
    text = f"graph-pipeline{{{options}}},sched-pipeline{{{options}}},low-pipeline{{{low}}}"
    assert str(PassManager(text)) == str(PassManager(all_passes(target)))
    assert str(PassManager(f"default-pipeline{{{options}}}")) == str(PassManager(all_passes(target)))
    assert set(NAMED_PIPELINES) == {"graph-pipeline", "sched-pipeline", "low-pipeline", "default-pipeline"}


def test_a_device_tells_its_figures():
    device = CpuDevice(PROCESSORS["znver3"], n_units=5)
    assert target_of(device) == Target(32, 16, 32 << 10, 512 << 10, 32 << 20, 5)
    assert target_of(cpu_device("x86-64-v4")).vector_registers == 32
    assert target_of(cpu_device("aarch64")).vector_registers == 32
    assert target_of(cpu_device("x86-64-v2")).vector_registers == 16
    assert target_of(ReferenceDevice()) == replace(DEFAULT_TARGET, vector_registers=16, n_threads=1)


def test_the_host_tells_its_own_caches(monkeypatch: pytest.MonkeyPatch):
    from tenon.backends.llvm import processors

    assert host_processor().cache_nbytes == USUAL_CACHES, "what tests schedule for"
    monkeypatch.setattr(processors, "host_cache_nbytes", host_cache_nbytes)
    assert host_processor.__wrapped__().cache_nbytes == host_cache_nbytes()


def test_a_gpu_has_work_groups_and_no_tiles():
    device = replace(UNLIMITED, kind=DeviceKind.GPU, max_items=1024, max_block=(64, 32, 16), group_multiple=8)
    target = target_of(device)
    assert target.groups == GroupLimits(256, (64, 32, 16), 1 << 62, 32, 8, 1)
    names = [pass_.name for pass_ in all_passes(target)]
    assert "map-work-groups" in names and "tile-contractions" not in names and "pack-panels" not in names
    (mapper,) = [pass_ for pass_ in all_passes(target) if pass_.name == "map-work-groups"]
    assert str(PassManager([mapper])).count("max_block=64,32,16") == 1


def test_what_a_device_lacks_is_expanded_or_an_error():
    class Lacking(ReferenceDevice):
        lacks = ("low.tile_fma",)

    assert target_of(Lacking()).lacks == ("low.tile_fma",)
    Lacking.lacks = ("low.alloca",)
    with pytest.raises(TenonError, match=r"^device reference: nothing expands low\.alloca "):
        target_of(Lacking())


def test_schedules_follow_the_caches():
    def schedule(target: str) -> str:
        with tenon.compile(MATMUL, target=target) as executable:
            return executable.stages["sched"]

    large, small = schedule("x86-64-v3"), schedule("znver3")
    assert large == small, "two names of the same caches"
    assert schedule("x86-64-v2") != large


def test_registers_are_those_of_x86_where_nobody_says():
    assert [usual_registers(nbytes) for nbytes in (16, 32, 64)] == [16, 16, 32]
