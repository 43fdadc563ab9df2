"""Kernels by how LLVM is to compile them, and the objects that are made of each kind."""

import pytest
from tenon.backends.llvm.code_image import CodeImage
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.kernel_groups import KernelGroups, group_kernels
from tenon.backends.llvm.limits import NEEDS_STRENGTH_REDUCTION, SCALAR_LOOPS

KINDS = {
    "scalar": f"nounwind {SCALAR_LOOPS}",
    "stepping": f"nounwind {NEEDS_STRENGTH_REDUCTION}",
    "plain": "nounwind",
}

SHARED = """\
declare i64 @llvm.smax.i64(i64, i64)
define internal void @apart.0(ptr %at) nounwind noinline cold {
entry:
  call void @apart.1(ptr %at)
  ret void
 }
declare i64 @llvm.smin.i64(i64, i64)
define internal void @apart.1(ptr %at) nounwind noinline cold {
entry:
  store double 1.0, ptr %at
  ret void
 }
define internal void @apart.10(ptr %at) nounwind noinline cold {
entry:
  store double 10.0, ptr %at
  ret void
 }
!0 = !{i32 1}
"""


def kernel(kind: str, name: str = "", apart: str = "apart.1") -> str:
    """A kernel that steps along rows as far apart as a loop's index times a number of the call."""
    name = name or kind
    extents = '"arguments"="2" "grid"="8,1,1" "block"="1,1,1"'
    return f"""\
define void @{name}.range(ptr %x, i64 %n, i64 %begin, i64 %end) {KINDS[kind]} {{
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %row = mul i64 %i, %n
  %at = getelementptr double, ptr %x, i64 %row
  call void @{apart}(ptr %at)
  %next = add nsw i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
define void @{name}.chunk(ptr %table, i64 %begin, i64 %end) nounwind noinline optnone {extents} {{
entry:
  %n = load i64, ptr %table
  %place = getelementptr i64, ptr %table, i64 1
  %x = load ptr, ptr %place
  call void @{name}.range(ptr %x, i64 %n, i64 %begin, i64 %end)
  ret void
}}
"""


def source_of(*kinds: str) -> str:
    return "".join(map(kernel, kinds)) + SHARED


def test_each_group_has_its_kernels_and_what_they_share() -> None:
    groups = group_kernels(source_of("plain", "scalar", "stepping"))
    for kind in KINDS:
        text = getattr(groups, kind)
        assert [other for other in KINDS if f"define void @{other}." in text] == [kind]
        assert f"@{kind}.chunk" in text and "declare i64 @llvm.smin.i64" in text and "!0 = " in text
        # Functions that it does not call, directly or by another one, are left out.
        assert "define internal void @apart.1(" in text
        assert "@apart.0(" not in text and "@apart.10(" not in text


def test_functions_that_shared_ones_call_are_there_too() -> None:
    plain = group_kernels(kernel("plain", apart="apart.0") + SHARED).plain
    assert "define internal void @apart.0(" in plain and "define internal void @apart.1(" in plain
    assert "@apart.10(" not in plain


@pytest.mark.parametrize(
    ("kinds", "reduces"),
    [
        (("plain",), [False]),
        (("stepping",), [True]),
        (("scalar",), [True]),
        (("scalar", "stepping"), [True]),
        (("plain", "stepping"), [True, False]),
        (("stepping", "plain", "scalar"), [True, False]),
    ],
)
def test_kernels_that_need_strength_reduction_are_an_object_of_their_own(
    kinds: tuple[str, ...], reduces: list[bool]
) -> None:
    source = source_of(*kinds)
    groups = group_kernels(source)
    assert [part.reduce_strength for part in groups.apart()] == reduces
    assert groups.reduce_strength is (True in reduces)
    compiler, device = LLVMCompiler(), host_device()
    image = compiler.image(source, device)
    assert len(CodeImage.from_bytes(image).objects) == len(reduces)
    assert compiler.load(image, device).entry_points == kinds
    # What is given to others is one object.
    assembly = compiler.assembly(source, device)
    assert all(f"\n{kind}.range:" in assembly for kind in kinds) and compiler.object_code(source, device)


def test_what_others_need_changes_no_code_of_a_kernel() -> None:
    compiler, device = LLVMCompiler(), host_device()

    def objects(source: str) -> tuple[bytes, ...]:
        return CodeImage.from_bytes(compiler.image(source, device)).objects

    (stepping,), (plain,) = objects(source_of("stepping")), objects(source_of("plain"))
    assert objects(source_of("plain", "stepping")) == (stepping, plain)
    # The same code where strength is reduced and where it is not would tell nothing.
    assert objects(kernel("stepping", "plain") + SHARED) != (plain,)


def test_a_text_without_kernels_is_compiled_as_it_is() -> None:
    text = "define void @f() { ret void }"
    assert group_kernels(text) == KernelGroups("", "", text)
    assert group_kernels(text).apart() == [KernelGroups("", "", text)]


@pytest.mark.parametrize("objects", [(), (b"",), (b"one", b""), (b"one", b"\0" * 300)])
def test_an_image_is_read_as_it_was_written(objects: tuple[bytes, ...]) -> None:
    image = CodeImage("first\nsecond\n", objects)
    assert CodeImage.from_bytes(image.to_bytes()) == image
