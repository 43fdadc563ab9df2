import io
import logging

import pytest
from tenon.errors import TenonError
from tenon.runtime.nodes.tensor_node import REGISTRY, TensorNode
from tenon.runtime.nodes.tensor_registry import TensorRegistry


def make(label: str, id: int | None = None) -> TensorNode:
    return TensorNode.create(dims=(2, 3), label=["registered", label], id=id)


def is_registered_here(node: TensorNode) -> bool:
    return node.label[:1] == ("registered",)


def test_a_node_is_found_by_its_id_as_long_as_it_is_used():
    node = make("w")
    id = node.id
    assert TensorNode.find(id) is node
    del node
    assert TensorNode.find(id) is None


def test_ids_count_up_and_are_not_used_twice():
    first = make("a").id
    assert make("b").id == first + 1
    given = make("c", first + 100)
    assert make("d").id == given.id + 1


def test_an_id_that_a_living_node_has_is_an_error():
    node = make("w")
    with pytest.raises(TenonError, match=f"tensor node n{node.id}: registered_w has this id already"):
        make("other", node.id)
    assert TensorNode.find(node.id) is node


def test_an_id_can_be_given_again_once_its_node_is_used_no_more():
    id = make("w").id
    again = make("again", id)
    assert TensorNode.find(id) is again


def test_nodes_are_listed_by_id():
    nodes = [make("a"), make("b"), make("c")]
    found = REGISTRY.nodes(is_registered_here)
    assert found == nodes
    assert set(found) <= set(REGISTRY.nodes())


def test_a_registry_of_its_own_counts_from_1():
    assert TensorRegistry().reserve_id() == 1


def test_headers_are_printed_by_id(capsys: pytest.CaptureFixture[str]):
    nodes = [make("a"), make("b")]
    file = io.StringIO()
    REGISTRY.print_accessible_headers(is_registered_here, file)
    assert file.getvalue() == "".join(f"{node.header}\n" for node in nodes)
    REGISTRY.print_accessible_headers(is_registered_here)
    assert capsys.readouterr().out == file.getvalue()


def test_headers_are_logged(caplog: pytest.LogCaptureFixture):
    node = make("a")
    with caplog.at_level(logging.INFO, "tenon.tensor_node"):
        REGISTRY.log_accessible_headers(is_registered_here)
    assert caplog.messages == [node.header]
    caplog.clear()
    with caplog.at_level(logging.INFO, "tenon.tensor_node"):
        REGISTRY.log_accessible_headers(is_registered_here, logging.DEBUG)
    assert caplog.messages == []
