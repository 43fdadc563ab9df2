import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenon.runtime.nodes.tensor_identifiers import (
    IdentStyle,
    better_code_name,
    debug_name,
    ident_of,
    label_words,
    no_grad_ident_label,
    styled_ident,
    styled_idents,
)

DOT, UNDER = IdentStyle.HEURISTIC_DOT_GRAD, IdentStyle.HEURISTIC_UNDER_GRAD


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ([], (False, None)),
        (["w"], (False, "w")),
        (["layer", "w"], (False, "layer_w")),
        (["grad", "w"], (True, "w")),
        (["grad"], (True, None)),
        (["x+y", "w"], (False, "w")),
        (["3", "w"], (False, "w_3")),
        (["3"], (False, "_3")),
        (["grad", "3"], (True, "_3")),
        (["3", "grad"], (True, "_3")),
        (["w", "grad"], (False, "w_grad")),
    ],
)
def test_a_label_makes_an_identifier_and_tells_gradients(label: list[str], expected: tuple[bool, str | None]):
    assert no_grad_ident_label(label) == expected


@pytest.mark.parametrize(
    ("style", "names"),
    [
        (DOT, ["layer_w", "layer_w.grad", "n42", "n42.grad"]),
        (UNDER, ["layer_w", "layer_w_grad", "n42", "n42_grad"]),
        (IdentStyle.NAME_AND_LABEL, ["n42_layer_w", "n42_grad_layer_w", "n42", "n42_grad"]),
        (IdentStyle.NAME_ONLY, ["n42"] * 4),
    ],
)
def test_every_style_names_as_it_says(style: IdentStyle, names: list[str]):
    labels = [["layer", "w"], ["grad", "layer", "w"], ["+"], ["grad"]]
    assert [styled_ident(42, label, style) for label in labels] == names


def test_a_name_that_repeats_gets_the_id_among_gradients_and_others_apart():
    assert styled_ident(42, ["w"], DOT, repeating_nograd_idents={"w"}) == "n42_w"
    assert styled_ident(42, ["grad", "w"], DOT, repeating_nograd_idents={"w"}) == "w.grad"
    assert styled_ident(42, ["grad", "w"], UNDER, repeating_grad_idents={"w"}) == "n42_w_grad"


def test_names_of_several_nodes_get_ids_only_where_they_need_them():
    labels = [(1, ["w"]), (2, ["w"]), (3, ["grad", "w"]), (4, ["b"])]
    assert styled_idents(labels, DOT) == {1: "n1_w", 2: "n2_w", 3: "w.grad", 4: "b"}


@pytest.mark.parametrize("style", IdentStyle)
@given(st.lists(st.lists(st.sampled_from(["w", "grad", "w_grad", "n1", "n2", "2", "+", "n1_w"]), max_size=3)))
def test_no_two_nodes_get_the_same_name(style: IdentStyle, labels: list[list[str]]):
    names = styled_idents(list(enumerate(labels)), style)
    assert len(set(names.values())) == len(labels)
    if style is not DOT:
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names.values())


@pytest.mark.parametrize(
    ("label", "code_name", "expected"),
    [
        ([], None, "n42"),
        (["layer", "w"], None, "layer_w"),
        (["grad", "w"], None, "w.grad"),
        (["grad"], None, "n42.grad"),
        (["w"], "weights", "weights"),
        (["w"], "w_grad", "w.grad"),
        (["w"], "_grad", "_grad"),
    ],
)
def test_the_name_in_messages_is_that_in_code_or_the_labels(
    label: list[str], code_name: str | None, expected: str
):
    assert debug_name(42, label, code_name) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, "w", "w"),
        ("w", "weights", "weights"),
        ("weights", "w", "weights"),
        ("weights", "n42", "n42"),
        ("n42_w", "weights", "n42_w"),
        ("n42_w", "n42_weights", "n42_weights"),
        ("n421", "longer", "longer"),
    ],
)
def test_a_name_with_the_id_is_better_then_a_longer_one(old: str | None, new: str, expected: str):
    assert better_code_name(42, old, new) == expected


def test_words_that_are_no_identifiers_make_no_names():
    assert label_words(["a b", "", "é", "ok_1", "x.y"]) == ["ok_1"]
    assert ident_of(7) == "n7"


def test_an_order_of_labels_does_not_change_their_names():
    labels = [(1, ["w"]), (2, ["grad", "w"]), (3, ["w"])]
    assert all(styled_idents(labels, style) == styled_idents(labels[::-1], style) for style in IdentStyle)
