from ..backends.reference.numpy_types import array_of
import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, i1
def dense_of(array, type):
    n=1
    for e in type.get_shape(): n*=e
    a=np.ascontiguousarray(array)
    data=a.tobytes() if type.element_type!=i1 else (a.astype(np.int8)*-1).tobytes()
    if a.size==1: data=data*n
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))
