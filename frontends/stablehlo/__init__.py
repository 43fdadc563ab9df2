"""Programs of jax and others: `tenon.from_stablehlo`, `tenon.from_jax`, `tenon.jax_compile`."""
