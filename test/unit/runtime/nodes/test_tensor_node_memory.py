import re
from itertools import product

import pytest
from tenon.dialects import memory_modes as modes
from tenon.dialects.memory_modes import MEMORY_MODES, MemoryMode, Sharing, merge, merge_sharing
from tenon.errors import MemoryModeError
from tenon.runtime.nodes.tensor_node import TensorNode
from tenon.runtime.nodes.tensor_node_memory import LOCAL_NBYTES

SMALL, LARGE = LOCAL_NBYTES // 4, LOCAL_NBYTES // 4 + 1


def make(mode: MemoryMode | str | None = None, extent: int = SMALL) -> TensorNode:
    return TensorNode.create(dims=(extent,), label="w", memory_mode=mode, provenance="asked first")


@pytest.mark.parametrize("old", [None, *MEMORY_MODES], ids=str)
def test_a_node_follows_the_lattice_for_every_pair_of_modes(old: MemoryMode | None):
    for new in MEMORY_MODES:
        node, merged = make(old), merge(old, new)
        if merged is None:
            message = f"tensor node w: {new} (asked later) conflicts with {old} (asked first)"
            with pytest.raises(MemoryModeError, match=f"^{re.escape(message)}$"):
                node.update_memory_mode(new, "asked later")
            assert (node.memory_mode, node.memory_provenance) == (old, "asked first")
        else:
            node.update_memory_mode(new, "asked later")
            assert node.memory_mode == merged


@pytest.mark.parametrize("old", [None, *MEMORY_MODES], ids=str)
def test_a_node_follows_the_lattice_for_every_sharing(old: MemoryMode | None):
    for sharing in Sharing:
        node, merged = make(old), merge_sharing(old, sharing)
        if merged is None:
            message = f"tensor node w: sharing {sharing} (asked later) conflicts with {old} (asked first)"
            with pytest.raises(MemoryModeError, match=f"^{re.escape(message)}$"):
                node.update_memory_sharing(sharing, "asked later")
            assert node.memory_mode == old
        else:
            node.update_memory_sharing(sharing, "asked later")
            assert node.memory_mode == merged


def test_a_request_that_changes_nothing_leaves_the_reason():
    node = make("on_device")
    node.update_memory_mode("never_virtual", "asked later")
    assert node.debug_memory_mode == "on_device (asked first)"


def test_a_narrower_request_gives_the_reason():
    node = make("never_virtual")
    node.update_memory_mode("on_device", "asked later")
    assert node.debug_memory_mode == "on_device (asked later)"


def test_a_mode_that_follows_from_two_requests_has_both_reasons():
    node = make("effectively_constant")
    node.update_memory_mode("never_virtual", "asked later")
    assert node.memory_mode == modes.HOSTED_CONSTANT
    assert node.memory_provenance == "effectively_constant: asked first; never_virtual: asked later"


def test_a_text_that_names_no_mode_is_an_error():
    with pytest.raises(MemoryModeError, match="memory mode: 'host' is none of"):
        make("host")


def test_without_a_mode_there_is_no_reason():
    assert (make().memory_mode, make().memory_provenance, make().debug_memory_mode) == (
        None,
        "",
        "no memory mode",
    )


def test_predicates_are_those_of_the_mode():
    names = [
        "known_not_materialized",
        "known_constant",
        "known_volatile",
        "known_virtual",
        "known_non_virtual",
        "known_shared_cross_streams",
        "known_non_cross_stream",
        "potentially_cross_stream",
        "mode_is_unspecified",
    ]
    for mode, name in product((None, *MEMORY_MODES), names):
        assert getattr(make(mode), name) == getattr(modes, name)(mode), f"{name} of {mode}"


def test_hosted_is_what_is_decided_to_be():
    assert [str(mode) for mode in MEMORY_MODES if make(mode).is_hosted] == [
        str(mode) for mode in MEMORY_MODES if str(mode).startswith("hosted")
    ]


@pytest.mark.parametrize(
    ("mode", "small", "large"),
    [
        (None, "virtual", "virtual"),
        ("effectively_constant", "virtual", "virtual"),
        ("never_virtual", "local", "on_device"),
        ("device_only", "local", "on_device"),
        ("materialized", "on_device", "on_device"),
        ("hosted", "hosted", "hosted"),
        ("on_device(per_stream)", "on_device(per_stream)", "on_device(per_stream)"),
    ],
)
def test_the_most_local_mode_depends_on_the_size(mode: str | None, small: str, large: str):
    for extent, expected in ((SMALL, small), (LARGE, large)):
        node = make(mode, extent)
        node.default_to_most_local("nothing else asked for")
        assert str(node.memory_mode) == expected


def test_a_forced_mode_has_both_reasons():
    node = make("device_only")
    node.default_to_most_local("nothing else asked for")
    assert node.memory_provenance == "asked first; nothing else asked for"
    undecided = make()
    undecided.default_to_most_local("nothing else asked for")
    assert undecided.memory_provenance == "nothing else asked for"


def test_only_what_needs_its_size_asks_for_it():
    node = TensorNode.create(dims=lambda: pytest.fail("dims are asked for"))
    assert node.is_virtual_force("nothing else asked for")


def forced(mode: str | None, method: str, extent: int = SMALL) -> tuple[bool, str]:
    node = make(mode, extent)
    return getattr(node, method)("forced"), str(node.memory_mode)


@pytest.mark.parametrize(
    ("method", "mode", "expected"),
    [
        ("is_virtual_force", None, (True, "virtual")),
        ("is_virtual_force", "effectively_constant", (True, "virtual")),
        ("is_virtual_force", "virtual", (True, "virtual")),
        ("is_virtual_force", "never_virtual", (False, "never_virtual")),
        ("is_virtual_force", "hosted", (False, "hosted")),
        ("is_hosted_force", None, (False, "virtual")),
        ("is_hosted_force", "effectively_constant", (False, "virtual")),
        ("is_hosted_force", "never_virtual", (False, "local")),
        ("is_hosted_force", "materialized", (False, "on_device")),
        ("is_hosted_force", "device_only", (False, "device_only")),
        ("is_hosted_force", "hosted(volatile)", (True, "hosted(volatile)")),
        ("is_materialized_force", None, (False, "virtual")),
        ("is_materialized_force", "never_virtual", (False, "local")),
        ("is_materialized_force", "local", (False, "local")),
        ("is_materialized_force", "materialized", (True, "materialized")),
        ("is_materialized_force", "on_device", (True, "on_device")),
        ("is_materialized_force", "hosted", (True, "hosted")),
        ("is_in_context_force", None, (False, "virtual")),
        ("is_in_context_force", "device_only", (False, "local")),
        ("is_in_context_force", "materialized", (True, "materialized")),
        ("is_in_context_force", "on_device", (True, "on_device")),
        ("is_in_context_force", "hosted(constant)", (True, "hosted(constant)")),
    ],
)
def test_forcing_decides_what_is_open_and_nothing_else(
    method: str, mode: str | None, expected: tuple[bool, str]
):
    assert forced(mode, method) == expected


@pytest.mark.parametrize("method", ["is_materialized_force", "is_in_context_force"])
@pytest.mark.parametrize("mode", ["never_virtual", "device_only"])
def test_what_is_too_large_to_be_local_is_on_devices(method: str, mode: str):
    assert forced(mode, method, LARGE) == (True, "on_device")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("hosted(constant)", (False, "hosted(constant)")),
        ("hosted(volatile)", (False, "hosted(volatile)")),
        ("hosted", (True, "hosted")),
        ("hosted(changed_on_devices(per_stream))", (True, "hosted(changed_on_devices(per_stream))")),
        ("materialized", (True, "on_device")),
        ("virtual", (False, "virtual")),
    ],
)
def test_a_device_in_host_memory_needs_no_buffer_for_what_it_does_not_change(
    mode: str, expected: tuple[bool, str]
):
    node = make(mode)
    assert (node.is_in_context_force("forced", use_host_memory=True), str(node.memory_mode)) == expected
