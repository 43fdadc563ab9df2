"""Texts of kernels to schedule, of drawn extents: elementwise, products, rows in several stages, windows."""

from __future__ import annotations

from random import Random


def kernel_texts(random: Random) -> list[str]:
    """Returns one kernel of each kind."""
    rows, columns, depth = (random.randint(1, 13) for _ in range(3))
    return [
        _elementwise(rows, columns),
        _products(rows, columns, depth),
        _softmax(rows, columns),
        _two_stages(rows, columns),
        _windows(rows, columns, depth),
        _whole_numbers(rows, columns),
    ]


def _elementwise(m: int, n: int) -> str:
    matrix = f"memref<{m}x{n}xf32>"
    return f"""sched.kernel @elementwise(%x: {matrix}, %z: memref<{n}xf32>, %y: {matrix}) {{
      sched.axis %i = {m} {{
        sched.axis %j = {n} {{
          %v = memref.load %x[%i, %j] : {matrix}
          %w = memref.load %z[%j] : memref<{n}xf32>
          %e = arith.addf %v, %w : f32
          memref.store %e, %y[%i, %j] : {matrix}
        }}
      }}
    }}"""


def _products(m: int, n: int, k: int) -> str:
    result = f"memref<{m}x{n}xf32>"
    return f"""sched.kernel @products(%a: memref<{m}x{k}xf32>, %b: memref<{k}x{n}xf32>, %c: {result}) {{
      sched.axis %i = {m} {{
        sched.axis %j = {n} {{
          %s = sched.reduce fma %k = {k} : f32 {{
            %x = memref.load %a[%i, %k] : memref<{m}x{k}xf32>
            %y = memref.load %b[%k, %j] : memref<{k}x{n}xf32>
            sched.yield %x, %y : f32
          }}
          memref.store %s, %c[%i, %j] : {result}
        }}
      }}
    }}"""


def _softmax(m: int, n: int) -> str:
    matrix, row = f"memref<{m}x{n}xf32>", f"memref<{n}xf32>"
    return f"""sched.kernel @rows(%x: {matrix}, %y: {matrix}) {{
      sched.axis %i = {m} {{
        %row = sched.alloc local : {row}
        %m = sched.reduce maximumf %a = {n} : f32 {{
          %v = memref.load %x[%i, %a] : {matrix}
          sched.yield %v : f32
        }}
        sched.axis %j = {n} {{
          %v = memref.load %x[%i, %j] : {matrix}
          %d = arith.subf %v, %m : f32
          memref.store %d, %row[%j] : {row}
        }}
        %s = sched.reduce addf %k = {n} : f32 {{
          %v = memref.load %row[%k] : {row}
          sched.yield %v : f32
        }}
        sched.axis %l = {n} {{
          %v = memref.load %row[%l] : {row}
          %d = arith.subf %v, %s : f32
          memref.store %d, %y[%i, %l] : {matrix}
        }}
      }}
    }}"""


def _two_stages(m: int, n: int) -> str:
    wide, matrix = f"memref<{m}x{n + 2}xf32>", f"memref<{m}x{n}xf32>"
    return f"""sched.kernel @stages(%x: {wide}, %y: {matrix}) {{
      %c2 = arith.constant 2 : index
      %row = sched.alloc local : {wide}
      sched.axis %p = {m} {{
        sched.axis %q = {n + 2} {{
          %v = memref.load %x[%p, %q] : {wide}
          %e = arith.mulf %v, %v : f32
          memref.store %e, %row[%p, %q] : {wide}
        }}
      }}
      sched.axis %i = {m} {{
        sched.axis %j = {n} {{
          %next = arith.addi %j, %c2 : index
          %a = memref.load %row[%i, %j] : {wide}
          %b = memref.load %row[%i, %next] : {wide}
          %d = arith.addf %a, %b : f32
          memref.store %d, %y[%i, %j] : {matrix}
        }}
      }}
    }}"""


def _windows(m: int, n: int, k: int) -> str:
    image, weights = f"memref<{m + 2}x{n + k}xf32>", f"memref<3x{k}xf32>"
    return f"""sched.kernel @windows(%x: {image}, %w: {weights}, %y: memref<{m}x{n}xf32>) {{
      sched.axis %i = {m} {{
        sched.axis %j = {n} {{
          %s = sched.reduce addf %h = 3 : f32 {{
            %t = sched.reduce addf %k = {k} : f32 {{
              %ih = arith.addi %i, %h : index
              %jk = arith.addi %j, %k : index
              %a = memref.load %x[%ih, %jk] : {image}
              %b = memref.load %w[%h, %k] : {weights}
              %p = arith.mulf %a, %b : f32
              sched.yield %p : f32
            }}
            sched.yield %t : f32
          }}
          memref.store %s, %y[%i, %j] : memref<{m}x{n}xf32>
        }}
      }}
    }}"""


def _whole_numbers(m: int, n: int) -> str:
    matrix = f"memref<{m}x{n}xi32>"
    return f"""sched.kernel @whole_numbers(%x: {matrix}, %start: memref<{m}xi32>, %y: memref<{m}xi32>) {{
      sched.axis %i = {m} {{
        %first = memref.load %start[%i] : memref<{m}xi32>
        %s = sched.reduce addi %j = {n} init(%first) : i32 {{
          %v = memref.load %x[%i, %j] : {matrix}
          sched.yield %v : i32
        }}
        memref.store %s, %y[%i] : memref<{m}xi32>
      }}
    }}"""


_SIZED = "memref<?x?xf32, {dims = #graph.dims<n, 2 * n>}>"

SIZED_KERNELS = (
    f"""graph.dim @n min 1 max 20
    sched.kernel @doubles(%n: index, %x: {_SIZED}, %y: {_SIZED}) dims [n] {{
      sched.axis %i = n {{
        sched.axis %j = 2 * n {{
          %v = memref.load %x[%i, %j] : {_SIZED}
          %e = arith.addf %v, %v : f32
          memref.store %e, %y[%i, %j] : {_SIZED}
        }}
      }}
    }}""",
    f"""graph.dim @n min 1 max 20
    sched.kernel @rows(%n: index, %x: {_SIZED}, %y: {_SIZED}) dims [n] {{
      sched.axis %i = n {{
        %row = sched.alloc local : memref<40xf32>
        sched.axis %j = 2 * n {{
          %v = memref.load %x[%i, %j] : {_SIZED}
          memref.store %v, %row[%j] : memref<40xf32>
        }}
        %s = sched.reduce addf %k = 2 * n : f32 {{
          %v = memref.load %row[%k] : memref<40xf32>
          sched.yield %v : f32
        }}
        sched.axis %l = 2 * n {{
          %v = memref.load %row[%l] : memref<40xf32>
          %d = arith.subf %v, %s : f32
          memref.store %d, %y[%i, %l] : {_SIZED}
        }}
      }}
    }}""",
)
"""Kernels over a named dim; both read a matrix and write one."""
