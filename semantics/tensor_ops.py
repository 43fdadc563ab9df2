from ..backends.reference.graph import _evaluate as evaluate
