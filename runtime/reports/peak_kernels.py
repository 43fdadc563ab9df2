"""
The kernels that a device's limits are measured with, as text of `low`.

Each work-group `w` of `g` works on `n` elements of its own, `r` times: so what it works on stays in the level
of memory that holds it. Values change from one time to the next, so that no compiler leaves one out.
"""

from __future__ import annotations

from collections.abc import Iterator

N_ACCUMULATORS = 12
"""Fused multiply-adds side by side: more than their latency takes, and few enough for 16 registers."""

STEP = 8
"""Vectors that the body of a loop over memory takes at once."""

FMA, READ, WRITE, COPY, STREAM = "peak_fma", "peak_read", "peak_write", "peak_copy", "peak_stream"
"""Arithmetic; reading only; writing only; copying, and the same past the caches."""


def fma_kernel(element: str, lanes: int) -> str:
    """
    Returns a kernel `@peak_fma_<element>_<lanes>(%g, %r, %x, %y)` of `2 * r * N_ACCUMULATORS * lanes`
    operations in each of `g` work-groups. `%x` has `fma_elements(lanes)` elements; a sum of each group is
    left in `%y`.
    """
    vector = f"vector<{lanes}x{element}>"
    memory = f"memref<{fma_elements(lanes)}x{element}>"
    sums = f"memref<?x{element}, {{dims = #graph.dims<{lanes} * g>}}>"
    accumulators = range(N_ACCUMULATORS)

    def lines() -> Iterator[str]:
        yield (
            f"low.kernel @{fma_name(element, lanes)}(%g: index, %r: index, %x: {memory}, %y: {sums}) "
            "dims [g, r] grid [g, 1, 1] block [1, 1, 1] {"
        )
        yield "%c0 = arith.constant 0 : index"
        yield "%c1 = arith.constant 1 : index"
        for k in range(N_ACCUMULATORS + 2):
            yield f"%p{k} = arith.constant {k * lanes} : index"
            yield f"%v{k} = vector.load %x[%p{k}] : {memory}, {vector}"
        a, b = f"%v{N_ACCUMULATORS}", f"%v{N_ACCUMULATORS + 1}"
        results = ", ".join(f"%s{k}" for k in accumulators)
        initial = ", ".join(f"%t{k} = %v{k}" for k in accumulators)
        types = ", ".join(vector for _ in accumulators)
        yield f"{results} = scf.for %i = %c0 to %r step %c1 iter_args({initial}) -> ({types}) {{"
        for k in accumulators:
            yield f"%u{k} = math.fma %t{k}, {a}, {b} : {vector}"
        yield f"scf.yield {', '.join(f'%u{k}' for k in accumulators)} : {types}"
        yield "}"
        total = "%s0"
        for k in accumulators[1:]:
            yield f"%sum{k} = arith.addf {total}, %s{k} : {vector}"
            total = f"%sum{k}"
        yield "%w = low.block_id x"
        yield f"%lanes = arith.constant {lanes} : index"
        yield "%at = arith.muli %w, %lanes : index"
        yield f"vector.store {total}, %y[%at] : {sums}, {vector}"
        yield "}"

    return "\n".join(lines())


def fma_name(element: str, lanes: int) -> str:
    """Returns the name of the kernel of fused multiply-adds for vectors of so many lanes."""
    return f"{FMA}_{element}_{lanes}"


def fma_elements(lanes: int) -> int:
    """Returns how many elements that kernel reads."""
    return (N_ACCUMULATORS + 2) * lanes


def memory_kernel(name: str, lanes: int) -> str:
    """
    Returns the kernel `@<name>(%g, %n, %r, %x, %y)` that reads `%x`, writes `%y`, or copies the one to the
    other: `n` f32 elements, a multiple of `STEP * lanes`, for each of `g` work-groups. Reading leaves a sum
    in `%y`.
    """
    vector = f"vector<{lanes}xf32>"
    memory = "memref<?xf32, {dims = #graph.dims<g * n>}>"
    reads, writes = name != WRITE, name != READ
    hint = " {nontemporal = true}" if name == STREAM else ""
    places = range(STEP)

    def lines() -> Iterator[str]:
        yield (
            f"low.kernel @{name}(%g: index, %n: index, %r: index, %x: {memory}, %y: {memory}) dims [g, n, r] "
            "grid [g, 1, 1] block [1, 1, 1] {"
        )
        yield f"%zero = arith.constant dense<0.0> : {vector}"
        yield f"%one = arith.constant dense<1.0> : {vector}"
        yield "%c0 = arith.constant 0 : index"
        yield "%c1 = arith.constant 1 : index"
        yield f"%step = arith.constant {STEP * lanes} : index"
        for k in places:
            yield f"%p{k} = arith.constant {k * lanes} : index"
        yield "%w = low.block_id x"
        yield "%begin = arith.muli %w, %n : index"
        yield "%end = arith.addi %begin, %n : index"
        carried = places if name == READ else range(1)
        types = ", ".join(vector for _ in carried)

        def loop(result: str, index: str, bounds: str, inner: str, outer: str) -> str:
            results = ", ".join(f"%{result}{k}" for k in carried)
            initial = ", ".join(f"%{inner}{k} = {outer.format(k=k)}" for k in carried)
            return f"{results} = scf.for %{index} = {bounds} iter_args({initial}) -> ({types}) {{"

        yield loop("total", "time", "%c0 to %r step %c1", "a", "%zero")
        yield loop("sum", "i", "%begin to %end step %step", "b", "%a{k}")
        for k in places:
            yield f"%at{k} = arith.addi %i, %p{k} : index"
        for k in places if reads else ():
            yield f"%v{k} = vector.load %x[%at{k}] : {memory}, {vector}"
        if name == READ:
            for k in places:
                yield f"%c{k}_ = arith.addf %b{k}, %v{k} : {vector}"
            yield f"scf.yield {', '.join(f'%c{k}_' for k in places)} : {types}"
        else:
            for k in places:
                value = "%b0"
                if reads:
                    yield f"%d{k} = arith.addf %v{k}, %b0 : {vector}"
                    value = f"%d{k}"
                yield f"vector.store {value}, %y[%at{k}] {hint}: {memory}, {vector}"
            yield f"scf.yield %b0 : {types}"
        yield "}"
        if writes:
            yield f"%next = arith.addf %sum0, %one : {vector}"
            yield f"scf.yield %next : {types}"
        else:
            yield f"scf.yield {', '.join(f'%sum{k}' for k in carried)} : {types}"
        yield "}"
        if not writes:
            for k in places[1:]:
                yield f"%e{k} = arith.addf {'%total0' if k == 1 else f'%e{k - 1}'}, %total{k} : {vector}"
            yield f"vector.store %e{STEP - 1}, %y[%begin] : {memory}, {vector}"
        yield "}"

    return "\n".join(lines())
