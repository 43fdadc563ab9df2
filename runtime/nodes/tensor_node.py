"""Tensors with an identity across programs, contexts and devices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import total_ordering
from math import prod
from operator import index as as_index
from threading import RLock
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

import numpy.typing as npt
from xdsl.ir import Attribute

from ...dialects import memory_modes as modes
from ...dialects.memory_modes import MemoryMode
from ...errors import TenonError
from ...semantics.numpy_types import element_type_of_dtype
from ..process_bound import ProcessBound
from . import tensor_identifiers as identifiers
from .delayed_dtype import (
    INITIAL_DEFAULT_DTYPE,
    DefaultDtype,
    DelayedDtype,
    Dtype,
    DtypeLike,
    InferredDtype,
    SpecifiedDtype,
    normalize_dtype,
    promote_dtypes,
)
from .host_array import aligned_copy, padded_zeros, plain_array, reshaped
from .lazy import Lazy
from .padding import Padding
from .tensor_identifiers import IdentStyle
from .tensor_node_host import TensorNodeHost
from .tensor_node_memory import TensorNodeMemory
from .tensor_registry import LOGGER, TensorRegistry

Dims = Sequence[int] | Callable[[], Sequence[int]]
"""Extents, or what computes them when they are needed."""

PaddingLike = Padding | None | Callable[[], Padding | None]
"""The margins of a node, None for none, or what computes them when they are needed."""

Label = str | Sequence[str]
"""The words of a label, the last the most telling; a text is one word."""


class ArrayOptions(TypedDict, total=False):
    """The further options of `TensorNode.create_with_reshape`, which says what they are."""

    label: Label
    id: int | None
    code_name: str | None
    memory_mode: MemoryMode | str
    copy: bool


T = TypeVar("T")


class _OfPart(Generic[T]):
    """What a part of a node has, as the node's own, under the same name."""

    def __init__(self, described: object, get: Callable[[TensorNode], T]) -> None:
        self._described, self._get = described, get

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, node: None, owner: type) -> Any: ...
    @overload
    def __get__(self, node: TensorNode, owner: type) -> T: ...
    def __get__(self, node: TensorNode | None, owner: type) -> Any:
        return getattr(self._described, self._name) if node is None else self._get(node)


def _memory(get: Callable[[TensorNodeMemory], T]) -> _OfPart[T]:
    return _OfPart(TensorNodeMemory, lambda node: get(node.memory))


def _mode(question: Callable[[MemoryMode | None], bool]) -> _OfPart[bool]:
    return _OfPart(modes, lambda node: question(node.memory.memory_mode))


def _host(get: Callable[[TensorNodeHost], T]) -> _OfPart[T]:
    return _OfPart(TensorNodeHost, lambda node: get(node.host))


@total_ordering
class TensorNode(ProcessBound):
    """
    A named n-dimensional array that programs of any device share. It knows what it is (id, label, dtype,
    extents), where it may live (`memory`), and, if it is hosted, the host's copy of its values (`host`);
    where devices keep theirs is known to contexts only. It does all that its parts can do, under the same
    names.

    Nodes are equal if they are the same, and ordered by id. Properties may be decided late: dtype, extents,
    padding and the host's array are computed once, when first asked for.

    Owner: whoever holds it; the registry does not keep it alive. Any thread may call any method. A lock
    guards the state, and is held while dtype, extents, padding and the host's array are computed. Getters and
    setters of values, `do_read` and `do_write` block while devices work; see there who must not call them.
    """

    COPY_HINT = "pickle its values, node.get_values()"

    __slots__ = (
        "__weakref__",
        "_backend_info",
        "_code_name",
        "_data_dims",
        "_delayed_dtype",
        "_dims",
        "_dtype",
        "_lock",
        "_padding",
        "host",
        "id",
        "label",
        "memory",
    )

    def __init__(
        self,
        dtype: DelayedDtype,
        *,
        id: int | None,
        label: Label,
        dims: Dims,
        padding: PaddingLike,
        make_array: Callable[[TensorNode], npt.NDArray[Any] | None],
        code_name: str | None,
    ) -> None:
        """Use `create` and its kin. `make_array` is called once, when the host's array is first needed."""
        self.id: int = REGISTRY.reserve_id() if id is None else id
        """Unique in the process."""
        self.label = (label,) if isinstance(label, str) else tuple(label)
        self._code_name = code_name
        who = f"tensor node {self.debug_name}"
        self._lock = RLock()
        self.memory = TensorNodeMemory(self, self._lock)
        self.host = TensorNodeHost(self, self._lock, Lazy(f"{who}: array", make_array))
        self._delayed_dtype: DelayedDtype = dtype
        self._backend_info: dict[str, str] = {}
        # Neither these nor the parts refer to the node: without cycles, it dies with its last reference.
        self._padding: Lazy[TensorNode, Padding | None] = Lazy(
            f"{who}: padding", lambda node: padding() if callable(padding) else padding
        )
        self._data_dims: Lazy[TensorNode, tuple[int, ...]] = Lazy(
            f"{who}: dims", lambda node: _checked_dims(who, dims)
        )
        self._dims = Lazy(f"{who}: dims", _padded_dims)
        self._dtype = Lazy(f"{who}: dtype", TensorNode._resolve_dtype)
        if not callable(padding) and not callable(dims):
            self._dims.force(self, self._lock)
        REGISTRY.add(self)

    @classmethod
    def create(
        cls,
        dtype: DelayedDtype | DtypeLike | None = None,
        *,
        dims: Dims,
        label: Label = (),
        id: int | None = None,
        padding: PaddingLike = None,
        code_name: str | None = None,
        memory_mode: MemoryMode | str | None = None,
        provenance: str = "created with this mode",
    ) -> TensorNode:
        """
        Returns a new node. `dims` are its extents without padding. A `dtype` that is a dtype or an element
        type is specified by that; None is the initial default, float32. If the node turns out to be hosted,
        the host's array starts as zeros, with the padding's value in the margins.

        Raises:
            TenonError: no element type has this dtype, or another node has this id.
            MemoryModeError: `memory_mode` is a text that names no mode.
        """
        node = cls(
            _delayed(dtype),
            id=id,
            label=label,
            dims=dims,
            padding=padding,
            make_array=_zeros_if_hosted,
            code_name=code_name,
        )
        if memory_mode is not None:
            node.update_memory_mode(memory_mode, provenance)
        return node

    @classmethod
    def from_array(cls, array: npt.NDArray[Any], **options: Unpack[ArrayOptions]) -> TensorNode:
        """
        Returns a new hosted node with the values of `array`. With `copy=False` the array itself is the host's
        array: see `create_with_reshape`, which this is without the reshaping.
        """
        return cls.create_from_padded(array, padding=None, **options)

    @classmethod
    def create_from_padded(
        cls, array: npt.NDArray[Any], *, padding: Padding | None, **options: Unpack[ArrayOptions]
    ) -> TensorNode:
        """
        Returns a new hosted node with the values of `array`, which has the margins already: its shape is the
        node's padded extents. Raises as `create_with_reshape`.
        """
        given = plain_array(array, "create_from_padded")
        dims = given.shape if padding is None else padding.unpadded(given.shape)
        return cls.create_with_reshape(given, dims=dims, padding=padding, from_padded=True, **options)

    @classmethod
    def create_with_reshape(
        cls,
        array: npt.NDArray[Any],
        *,
        dims: Dims,
        padding: PaddingLike = None,
        from_padded: bool = False,
        label: Label = (),
        id: int | None = None,
        code_name: str | None = None,
        memory_mode: MemoryMode | str = modes.HOSTED,
        copy: bool = True,
    ) -> TensorNode:
        """
        Returns a new hosted node with the elements of `array` in row-major order, in the shape `dims`
        (without padding) once that is known. With `from_padded`, `array` includes the margins; without,
        margins are added around its elements where there is padding.

        `array` is copied at once, unless `copy=False`: then the node keeps the array and, where no margins
        are added, reads and writes its memory.

        Raises:
            TenonError: `array` is no array, no element type has its dtype, another node has this id, or
                `copy=False` and the array is not C-contiguous, writable and in the host's byte order. Now, or
                once lazy dims are known: the numbers of elements differ.
            MemoryModeError: `memory_mode` is a text that names no mode, or cannot be hosted.
        """
        given = plain_array(array, "create_with_reshape")
        dtype = normalize_dtype(given.dtype)
        source = aligned_copy(given) if copy else given
        if not (source.flags.c_contiguous and source.flags.writeable and source.dtype == dtype):
            raise TenonError(
                "create_with_reshape: an array that is not copied must be C-contiguous, writable and in the "
                "host's byte order"
            )
        node = cls(
            SpecifiedDtype(dtype, "the dtype of the array it was created from"),
            id=id,
            label=label,
            dims=dims,
            padding=padding,
            make_array=lambda node: reshaped(
                source, node.dims, node.padding, from_padded, f"tensor node {node.debug_name}"
            ),
            code_name=code_name,
        )
        if node._dims.is_forced:
            assert node.array is not None, "an array was given"
        node.update_memory_mode(modes.HOSTED, "created from an array")
        if memory_mode != modes.HOSTED:
            node.update_memory_mode(memory_mode, "created from an array with this mode")
        node.host.is_initialized = True
        return node

    memory_mode = _memory(lambda memory: memory.memory_mode)
    memory_provenance = _memory(lambda memory: memory.memory_provenance)
    debug_memory_mode = _memory(lambda memory: memory.debug_memory_mode)
    update_memory_mode = _memory(lambda memory: memory.update_memory_mode)
    update_memory_sharing = _memory(lambda memory: memory.update_memory_sharing)
    note_own_memory = _memory(lambda memory: memory.note_own_memory)
    default_to_most_local = _memory(lambda memory: memory.default_to_most_local)
    is_virtual_force = _memory(lambda memory: memory.is_virtual_force)
    is_hosted_force = _memory(lambda memory: memory.is_hosted_force)
    is_materialized_force = _memory(lambda memory: memory.is_materialized_force)
    is_in_context_force = _memory(lambda memory: memory.is_in_context_force)
    is_hosted = _memory(lambda memory: memory.is_hosted)

    known_not_materialized = _mode(modes.known_not_materialized)
    known_constant = _mode(modes.known_constant)
    known_volatile = _mode(modes.known_volatile)
    known_virtual = _mode(modes.known_virtual)
    known_non_virtual = _mode(modes.known_non_virtual)
    known_shared_cross_streams = _mode(modes.known_shared_cross_streams)
    known_non_cross_stream = _mode(modes.known_non_cross_stream)
    potentially_cross_stream = _mode(modes.potentially_cross_stream)
    mode_is_unspecified = _mode(modes.mode_is_unspecified)

    host_lock = _host(lambda host: host.host_lock)
    array = _host(lambda host: host.array)
    has_array = _host(lambda host: host.has_array)
    is_initialized = _host(lambda host: host.is_initialized)
    host_version = _host(lambda host: host.host_version)
    devices_not_lagging_host = _host(lambda host: host.devices_not_lagging_host)
    add_device_not_lagging_host = _host(lambda host: host.add_device_not_lagging_host)
    discard_device_not_lagging_host = _host(lambda host: host.discard_device_not_lagging_host)
    prepare_read = _host(lambda host: host.prepare_read)
    prepare_write = _host(lambda host: host.prepare_write)
    do_read = _host(lambda host: host.do_read)
    do_write = _host(lambda host: host.do_write)
    get_value = _host(lambda host: host.get_value)
    set_value = _host(lambda host: host.set_value)
    get_values = _host(lambda host: host.get_values)
    set_values = _host(lambda host: host.set_values)
    points_1d = _host(lambda host: host.points_1d)
    points_2d = _host(lambda host: host.points_2d)

    @staticmethod
    def find(id: int) -> TensorNode | None:
        """Returns the node with an id, None where there is none or it is used no more."""
        return REGISTRY.find(id)

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents, with padding."""
        return self._dims.force(self, self._lock)

    @property
    def dims_without_padding(self) -> tuple[int, ...]:
        """The extents of the data."""
        return self._data_dims.force(self, self._lock)

    @property
    def padding(self) -> Padding | None:
        return self._padding.force(self, self._lock)

    @property
    def size(self) -> int:
        """The number of elements, with padding."""
        return prod(self.dims)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements, with padding."""
        return self.size * self.dtype.itemsize

    @property
    def dtype(self) -> Dtype:
        """
        The dtype of its values, decided now if it was not. Stored elements have the same bytes: i8 for ui8
        and i1.

        Raises:
            TenonError: it is inferred from itself.
        """
        return self._dtype.force(self, self._lock)

    @property
    def element_type(self) -> Attribute:
        """The element type of its values, decided now if it was not."""
        return element_type_of_dtype(self.dtype)

    def _resolve_dtype(self) -> Dtype:
        dtype = self._delayed_dtype.resolve()
        if isinstance(self._delayed_dtype, InferredDtype):
            # What it was inferred from need not live on.
            self._delayed_dtype = InferredDtype(())
        return dtype

    @property
    def delayed_dtype(self) -> DelayedDtype:
        """How the dtype is, or was, decided."""
        return self._delayed_dtype

    @property
    def specified_dtype(self) -> Dtype | None:
        """The dtype that somebody asked for, None if nobody did. Decides nothing."""
        delayed = self._delayed_dtype
        return delayed.dtype if isinstance(delayed, SpecifiedDtype) else None

    def update_dtype(self, dtype: DtypeLike, provenance: str) -> None:
        """
        Specifies the dtype; `provenance` says why.

        Raises:
            TenonError: no element type has this dtype, or another one is specified, or decided, already.
        """
        new = normalize_dtype(dtype)
        with self._lock:
            old = self._delayed_dtype
            if isinstance(old, SpecifiedDtype):
                if old.dtype != new:
                    raise TenonError(
                        f"tensor node {self.debug_name}: dtype {new} ({provenance}) disagrees with "
                        f"{old.dtype} ({old.provenance})"
                    )
            elif not self._dtype.is_forced:
                self._delayed_dtype = SpecifiedDtype(new, provenance)
            elif self._dtype.force(self, self._lock) != new:
                raise TenonError(
                    f"tensor node {self.debug_name}: dtype {new} ({provenance}) comes too late, "
                    f"{self._dtype.force(self, self._lock)} is used already ({old})"
                )

    def infer_dtype(self, *sources: TensorNode | DtypeLike | Callable[[], Dtype]) -> None:
        """
        Says what the node is computed from: unless its dtype is specified, it becomes the promotion of theirs
        and of those said earlier, in place of a default. Sources that are nodes, or functions, decide their
        dtype when this one's is needed.

        Raises:
            TenonError: no element type has one of the dtypes, or another dtype is used already.
        """
        delayed = tuple(_source(source) for source in sources)
        with self._lock:
            old = self._delayed_dtype
            if isinstance(old, SpecifiedDtype) or not delayed:
                return
            if not self._dtype.is_forced:
                earlier = old.sources if isinstance(old, InferredDtype) else ()
                self._delayed_dtype = InferredDtype(earlier + delayed)
                return
            used = self._dtype.force(self, self._lock)
            inferred = [source() for source in delayed]
            if isinstance(old, InferredDtype):
                inferred.append(used)
            new = promote_dtypes(inferred)
            if new != used:
                raise TenonError(
                    f"tensor node {self.debug_name}: dtype {new} (inferred) comes too late, {used} is used "
                    f"already ({old})"
                )

    @property
    def ident(self) -> str:
        """The shortest name: `n42`."""
        return identifiers.ident_of(self.id)

    @property
    def label_text(self) -> str:
        """The words of the label, joined by `_`."""
        return "_".join(self.label)

    @property
    def code_name(self) -> str | None:
        """The name in programs, None if it has none yet."""
        return self._code_name

    def update_code_name(self, name: str) -> None:
        """Gives it a name in programs, unless the one it has is better: has its id, or is longer."""
        with self._lock:
            self._code_name = identifiers.better_code_name(self.id, self._code_name, name)

    @property
    def debug_name(self) -> str:
        """The name in messages."""
        return identifiers.debug_name(self.id, self.label, self._code_name)

    def no_grad_ident_label(self) -> tuple[bool, str | None]:
        """Returns whether it is a gradient, and the identifier that its label makes without saying so."""
        return identifiers.no_grad_ident_label(self.label)

    def styled_ident(
        self,
        style: IdentStyle,
        repeating_nograd_idents: Container[str] = (),
        repeating_grad_idents: Container[str] = (),
    ) -> str:
        """Returns the name in a style; names that repeat get the id where the style is a heuristic."""
        return identifiers.styled_ident(
            self.id, self.label, style, repeating_nograd_idents, repeating_grad_idents
        )

    @staticmethod
    def styled_idents(nodes: Iterable[TensorNode], style: IdentStyle) -> dict[TensorNode, str]:
        """Returns names in a style for nodes, no two the same."""
        listed = list(nodes)
        names = identifiers.styled_idents([(node.id, node.label) for node in listed], style)
        return {node: names[node.id] for node in listed}

    def dims_to_string(self, with_axis_numbers: bool = False) -> str:
        """
        Returns dtype and extents: `float32 4x3`, with margins `float32 4+2x3`, with axis numbers
        `float32 0:6 x 1:3`, `float32 -` without axes. Decides nothing.
        """
        dtype = str(self.specified_dtype or (self.dtype if self._dtype.is_forced else self._delayed_dtype))
        if not self._dims.is_forced:
            return f"{dtype} with dims not known yet"
        dims = self.dims
        if not dims:
            return f"{dtype} -"
        if with_axis_numbers:
            return f"{dtype} {' x '.join(f'{axis}:{extent}' for axis, extent in enumerate(dims))}"
        padding = self.padding
        if padding is None:
            return f"{dtype} {'x'.join(map(str, dims))}"
        data = self.dims_without_padding
        margins = (f"+{axis.total}" if axis.total else "" for axis in padding.axes)
        extents = (f"{extent}{margin}" for extent, margin in zip(data, margins, strict=True))
        return f"{dtype} {'x'.join(extents)}"

    @property
    def header(self) -> str:
        """One line about the node for people. Decides nothing."""
        host = self.host.size_text
        named = f"{self.ident} {self.label_text}".rstrip()
        ident = self.styled_ident(IdentStyle.HEURISTIC_DOT_GRAD)
        return f"{named} as {ident}: {self.debug_memory_mode}; {self.dims_to_string()}; {host}"

    def log_debug_info(self, level: int = logging.DEBUG) -> None:
        """Logs what is known of the node to the logger `tenon.tensor_node`. Decides nothing."""
        if LOGGER.isEnabledFor(level):
            info = ", ".join(f"{backend}: {text}" for backend, text in sorted(self.backend_info.items()))
            lagging = sorted(self.devices_not_lagging_host)
            LOGGER.log(
                level,
                "%s; code name %s; backends {%s}; devices not lagging host %s",
                self.header,
                self._code_name,
                info,
                lagging,
            )

    @property
    def backend_info(self) -> Mapping[str, str]:
        """What backends noted, for people."""
        with self._lock:
            return dict(self._backend_info)

    def update_backend_info(self, backend: str, text: str) -> None:
        """Notes something about the node, in place of what `backend` noted before."""
        with self._lock:
            self._backend_info[backend] = text

    def __lt__(self, other: object) -> bool:
        return self.id < other.id if isinstance(other, TensorNode) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        mode = self.memory_mode or "no mode"
        return f"<TensorNode {self.ident} {self.debug_name}: {self.dims_to_string()}, {mode}>"


REGISTRY: TensorRegistry[TensorNode] = TensorRegistry()
"""The registry of every tensor node."""


def _zeros_if_hosted(node: TensorNode) -> npt.NDArray[Any] | None:
    if not node.is_hosted_force("its host array was asked for"):
        return None
    return padded_zeros(node.dims, node.padding, node.dtype)


def _padded_dims(node: TensorNode) -> tuple[int, ...]:
    padding, dims = node.padding, node.dims_without_padding
    return dims if padding is None else padding.padded(dims)


def _delayed(dtype: DelayedDtype | DtypeLike | None) -> DelayedDtype:
    if dtype is None:
        return DefaultDtype(INITIAL_DEFAULT_DTYPE)
    if isinstance(dtype, DefaultDtype | InferredDtype | SpecifiedDtype):
        return dtype
    return SpecifiedDtype(normalize_dtype(dtype), "given where it was created")


def _source(source: TensorNode | DtypeLike | Callable[[], Dtype]) -> Callable[[], Dtype]:
    if isinstance(source, TensorNode):
        return lambda: source.dtype
    if callable(source) and not isinstance(source, type):
        return source
    dtype = normalize_dtype(source)
    return lambda: dtype


def _checked_dims(who: str, dims: Dims) -> tuple[int, ...]:
    extents = tuple(as_index(extent) for extent in (dims() if callable(dims) else dims))
    for axis, extent in enumerate(extents):
        if extent < 0:
            raise TenonError(f"{who}: axis {axis} of {list(extents)} has a negative extent")
    return extents
