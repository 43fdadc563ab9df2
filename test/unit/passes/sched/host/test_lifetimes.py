"""How long buffers live around loops and branches."""

from tenon.dialects import sched
from tenon.dialects.modules.kernel_access import accesses_of
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.sched.host.lifetimes import lifetimes_of

KERNELS = """
sched.kernel @set(%y: memref<4xf32>) {
  sched.axis %i = 4 {
    %c = arith.constant 0.0 : f32
    memref.store %c, %y[%i] : memref<4xf32>
  }
}
sched.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 {
    %a = memref.load %x[%i] : memref<4xf32>
    memref.store %a, %y[%i] : memref<4xf32>
  }
}
"""


def lifetimes(items: str) -> dict[str, tuple[int, int]]:
    """The lifetimes of `%a` to `%e` and `%m` in a program that returns `%r`."""
    buffers = "\n".join(
        f"%{name} = sched.buffer global temporary : memref<4xf32>" for name in ("a", "b", "c", "d", "e")
    )
    module = parse_module(
        f"""{KERNELS}
        sched.program @f(%q: memref<i8>) : (tensor<i1>) -> tensor<4xf32> {{
          {buffers}
          %r = sched.buffer global result : memref<4xf32>
          {items}
          sched.return %r after() : memref<4xf32>
        }}""",
        "t.mlir",
    )
    module.verify()
    (program,) = (op for op in module.body.ops if isinstance(op, sched.ProgramOp))
    found = lifetimes_of(program, accesses_of(module))
    return {buffer.name_hint or "": span for buffer, span in found.items()}


TWO = ": memref<4xf32>, memref<4xf32>"


def test_what_is_written_and_read_in_one_iteration_lives_there():
    found = lifetimes(f"""
      %t0 = sched.launch @set(%a) after() : memref<4xf32>
      %t1 = sched.for %i = 3 after() {{
        %u0 = sched.launch @copy(%a, %b) after() {TWO}
        %u1 = sched.launch @copy(%b, %c) after() {TWO}
        %u2 = sched.launch @copy(%c, %a) after() {TWO}
      }}
      %t2 = sched.launch @copy(%a, %r) after() {TWO}""")
    assert found["b"] == (2, 3)
    assert found["c"] == (3, 4)
    assert found["a"] == (0, 5)
    assert found["r"] == (5, 6)


def test_what_an_iteration_leaves_for_the_next_lives_for_the_whole_loop():
    found = lifetimes(f"""
      %t1 = sched.for %i = 3 after() {{
        %u0 = sched.launch @copy(%a, %b) after() {TWO}
        %u1 = sched.launch @set(%a) after() : memref<4xf32>
        %u2 = sched.launch @copy(%b, %r) after() {TWO}
      }}
      %t2 = sched.sync after()""")
    assert found["a"] == (0, 3)
    assert found["b"] == (1, 3)
    assert found["r"] == (0, 5)


def test_what_inner_loops_write_first_lives_within_an_outer_iteration():
    found = lifetimes(f"""
      %t1 = sched.for %i = 3 after() {{
        %u0 = sched.for %j = 2 after() {{
          %v0 = sched.launch @set(%a) after() : memref<4xf32>
        }}
        %u1 = sched.launch @copy(%a, %r) after() {TWO}
      }}""")
    assert found["a"] == (1, 3)


def test_what_one_branch_only_writes_may_be_left_from_before():
    found = lifetimes(f"""
      %t1 = sched.for %i = 3 after() {{
        %u0 = sched.if %q after() {{
          %v0 = sched.launch @set(%a) after() : memref<4xf32>
          %v1 = sched.launch @set(%b) after() : memref<4xf32>
        }} else {{
          %v2 = sched.launch @set(%b) after() : memref<4xf32>
        }}
        %u1 = sched.launch @copy(%a, %r) after() {TWO}
        %u2 = sched.launch @copy(%b, %r) after() {TWO}
      }}""")
    assert found["a"] == (0, 6)
    assert found["b"] == (1, 6)


def test_what_both_regions_of_a_while_use_lives_for_the_whole_of_it():
    found = lifetimes(f"""
      %t1 = sched.while %q after() {{
        %u0 = sched.launch @set(%a) after() : memref<4xf32>
        %u1 = sched.launch @set(%b) after() : memref<4xf32>
        %u2 = sched.launch @copy(%b, %r) after() {TWO}
      }} do {{
        %v0 = sched.launch @copy(%a, %r) after() {TWO}
      }}""")
    assert found["a"] == (0, 4)
    assert found["b"] == (2, 3)
