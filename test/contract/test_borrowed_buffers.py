"""What contexts do with memory of other contexts of their device."""

import gc

import numpy as np
import pytest
from tenon.errors import CallError, ContextError
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.optimize_context import OptimizeContext
from tenon.runtime.platforms.platform import Platform

from .open_platforms import COUNT, MERGE, code_of, context_with, device, node_of, numbers, platform

__all__ = ["device", "platform"]


def test_buffers_tell_what_they_hold(device: Device):
    node, other = node_of(3, 4), node_of(2, label="b", dtype="i2")
    context = device.make_context().make_child([node, other])
    assert list(context.buffers) == [node, other]
    first, second = (context.buffers[each] for each in (node, other))
    assert (first.dtype, first.shape, first.nbytes) == (np.dtype("f4"), (3, 4), 48)
    assert (second.dtype, second.shape, second.nbytes) == (np.dtype("i2"), (2,), 4)
    assert first.location.pool_id == second.location.pool_id
    assert first.location.offset != second.location.offset


def test_a_context_without_a_parent_takes_buffers(device: Device):
    node = node_of(4)
    lender = context_with(device, w=(node, numbers(4)))
    context = device.make_context(buffers=lender.buffers)
    assert (context.parent, context.nodes, context.delta) == (None, (node,), (node,))
    assert context.buffers[node] is lender.buffers[node]
    assert context.to_host(node).tolist() == [0, 1, 2, 3]
    assert context.device_to_device(node, lender) is None
    context.finalize()
    assert lender.to_host(node).tolist() == [0, 1, 2, 3]


def test_a_child_takes_buffers(device: Device):
    code = code_of(device.platform, COUNT)
    node = code.nodes["w"]
    lender = context_with(device, w=(node, numbers(4)))
    own = node_of(4, label="own")
    child = context_with(device, own=(own, numbers(4))).make_child(buffers={node: lender.buffers[node]})
    assert child.nodes == (own, node)
    child.link(code).run()
    assert lender.to_host(node).tolist() == [1, 2, 3, 4]
    again = child.make_child([node], buffers={node: lender.buffers[node]})
    assert (again.buffers[node], again.delta) == (lender.buffers[node], ())


def test_memory_lives_as_long_as_a_context_that_borrows_it(device: Device):
    node = node_of(4)
    lender = context_with(device, w=(node, numbers(4)))
    context = device.make_context(buffers=lender.buffers)
    del lender
    gc.collect()
    assert context.to_host(node).tolist() == [0, 1, 2, 3]


def test_finalizing_the_lender_finalizes_who_borrows(device: Device):
    node = node_of(4)
    lender = context_with(device, w=(node, numbers(4)))
    child = device.make_context(buffers=lender.buffers).make_child([node_of(4, label="own")])
    lender.finalize()
    assert child.is_finalized
    assert device.used_memory == 0
    with pytest.raises(ContextError, match="finalized"):
        child.to_host(node)


def test_buffers_that_a_context_cannot_have_are_refused(platform: Platform):
    first, second = platform.devices
    node, other = node_of(4), node_of(4, label="other")
    lender = context_with(first, w=(node, numbers(4)))
    buffer = lender.buffers[node]
    with pytest.raises(ContextError, match="make_context: the buffer given for other is that of w"):
        first.make_context(buffers={other: buffer})
    with pytest.raises(ContextError, match=r"make_context: the buffer of w is on .*:0, not on .*:1"):
        second.make_context(buffers={node: buffer})
    sibling = context_with(first, w=(node, numbers(4)))
    with pytest.raises(ContextError, match="make_child: w is in the context already, in other memory"):
        sibling.make_child(buffers={node: buffer})
    with pytest.raises(CallError, match="make_child: buffers: expected memory of nodes, found int"):
        sibling.make_child(buffers={other: 3})  # pyright: ignore[reportArgumentType]
    lender.finalize()
    with pytest.raises(ContextError, match="the context that the buffer of w was made in is gone"):
        first.make_context(buffers={node: buffer})


def test_a_new_context_takes_an_optimize_context(device: Device):
    known = OptimizeContext()
    assert device.make_context(optimize_context=known).optimize_context is known
    assert device.make_context().optimize_context is None


def test_the_merge_node_of_a_child_can_be_cleared(device: Device):
    code = code_of(device.platform, MERGE)
    node = code.nodes["w"]
    context = context_with(device, w=(node, numbers(4)))
    transfer = context.device_to_device(node, context, into_merge_buffer=True)
    assert transfer is not None
    assert transfer.context.make_child().merge_buffer_node is node
    cleared = transfer.context.make_child(merge_buffer_node=None)
    assert cleared.merge_buffer_node is None
    assert cleared.make_child().merge_buffer_node is None
    with pytest.raises(
        ContextError, match="reads w from the merge buffer, which in this context holds nothing"
    ):
        cleared.link(code)
    assert cleared.make_child(merge_buffer_node=node).link(code).merge_buffer_input is node
