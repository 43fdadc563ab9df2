import json
import threading
from pathlib import Path
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon import RankError, TenonError
from tenon.frontends.sharding import checkpoints

A = np.arange(7 * 9, dtype=np.float32).reshape(7, 9)
B = np.arange(5).astype(ml_dtypes.bfloat16)


def on(ranks, function):
    tenon.run_ranks(ranks, lambda: function(tenon.Mesh((ranks,), ("x",))))


def save(folder: Path, ranks: int, scale: float = 1):
    def run(mesh):
        tree = {
            "a": tenon.shard(A * np.float32(scale), tenon.sharding(mesh, None, "x")),
            "rest": [
                tenon.shard(B, tenon.sharding(mesh, "x")),
                tenon.shard(np.int64(7), tenon.sharding(mesh)),
            ],
        }
        tenon.save_checkpoint(folder, tree)

    on(ranks, run)


def check(folder: Path, ranks: int, scale: float = 1):
    def run(mesh):
        whole = tenon.sharding(mesh)
        tree = tenon.load_checkpoint(
            folder, {"a": tenon.sharding(mesh, "x"), "rest": [whole, tenon.sharding(mesh)]}
        )
        assert np.array_equal(tenon.gather(tree["a"]).numpy(), A * np.float32(scale))
        assert np.array_equal(tree["rest"][0].local.numpy(), B) and tree["rest"][0].dtype == B.dtype
        assert tree["rest"][1].local.item() == 7

    on(ranks, run)


def load(folder: Path):
    check(folder, 1)


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("after", [1, 3, 4])
def test_what_some_ranks_wrote_others_read(tmp_path: Path, before: int, after: int):
    save(tmp_path / "new", before)
    check(tmp_path / "new", after)


def test_each_part_is_written_once(tmp_path: Path):
    save(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.glob("data-*/*")) == [
        *(f"0-{part}.bin" for part in range(3)),
        *(f"1-{part}.bin" for part in range(3)),
        "2-0.bin",
    ]


def test_a_later_checkpoint_takes_the_place_of_an_earlier_one(tmp_path: Path):
    save(tmp_path, 2)
    save(tmp_path, 3, scale=2)
    check(tmp_path, 2, scale=2)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_not_written_to_its_end_leaves_what_was_there(tmp_path: Path):
    save(tmp_path, 2)
    real, lock, calls = Path.open, threading.Lock(), []

    def fail(path, *arguments, **named):
        with lock:
            calls.append(path)
        if path.name == "0-1.bin":
            raise OSError(28, "No space left on device")
        return real(path, *arguments, **named)

    with patch.object(Path, "open", fail), pytest.raises(OSError, match="No space left on device"):
        save(tmp_path, 2, scale=2)
    check(tmp_path, 2)


def test_who_is_overtaken_by_another_program_leaves_what_that_wrote(tmp_path: Path):
    real = checkpoints.publish

    def overtaken(root, index):
        with patch.object(checkpoints, "publish", real):
            save(tmp_path, 1)
        real(root, index)

    message = "another program has written to the folder"
    with patch.object(checkpoints, "publish", overtaken), pytest.raises(FileNotFoundError, match=message):
        save(tmp_path, 2, scale=2)
    check(tmp_path, 2)


def test_a_rank_that_cannot_write_is_named_to_the_others(tmp_path: Path):
    real, told = Path.open, []

    def fail(path, *arguments, **named):
        if path.name == "0-1.bin":
            raise OSError(28, "No space left on device")
        return real(path, *arguments, **named)

    def run(mesh):
        try:
            tenon.save_checkpoint(tmp_path, tenon.shard(A, tenon.sharding(mesh, "x")))
        except RankError as error:
            told.append((mesh.rank, str(error)))
        except OSError:
            told.append((mesh.rank, "itself"))

    with patch.object(Path, "open", fail):
        on(2, run)
    message = "save_checkpoint: rank 1 could not write: No space left on device"
    assert sorted(told) == [(0, message), (1, "itself")]


@pytest.mark.parametrize("more", [0, 1])
def test_ranks_that_save_other_arrays_are_an_error(more: int, tmp_path: Path):
    def fewer(mesh):
        x = tenon.shard(A, tenon.sharding(mesh, "x"))
        tenon.save_checkpoint(tmp_path, {"x": x, "y": x} if mesh.rank == more else {"x": x})

    def another(mesh):
        values = A.astype(np.float64) if mesh.rank == more else A
        tenon.save_checkpoint(tmp_path, tenon.shard(values, tenon.sharding(mesh, "x")))

    for run in (fewer, another):
        with pytest.raises(RankError, match="differ in their arrays that are saved"):
            on(2, run)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_damaged_or_missing_is_an_error(tmp_path: Path):
    save(tmp_path, 2)
    (path,) = tmp_path.glob("data-*/0-1.bin")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\x7f")
    with pytest.raises(
        TenonError, match=r"^load_checkpoint: .*0-1\.bin is damaged: its digest is another one$"
    ):
        load(tmp_path)
    path.write_bytes(content[:-4])
    with pytest.raises(TenonError, match=r"0-1\.bin is missing or has not \d+ bytes$"):
        load(tmp_path)


def test_other_arrays_than_there_are_are_an_error(tmp_path: Path):
    save(tmp_path, 1)
    message = r"has the arrays \['a'\], \['rest'\]\[0\], \['rest'\]\[1\], and the shardings are of \['b'\]$"
    with pytest.raises(TenonError, match=message):
        on(1, lambda mesh: tenon.load_checkpoint(tmp_path, {"b": tenon.sharding(mesh)}))


def test_what_is_no_sharding_or_no_sharded_array_is_an_error(tmp_path: Path):
    with pytest.raises(TypeError, match=r"^save_checkpoint: \['a'\] is ndarray, no sharded array$"):
        tenon.save_checkpoint(tmp_path, {"a": A})
    with pytest.raises(TenonError, match=r"^save_checkpoint: expected sharded arrays of one mesh$"):
        tenon.save_checkpoint(tmp_path, {})
    on(1, lambda mesh: tenon.save_checkpoint(tmp_path, [tenon.shard(A, tenon.sharding(mesh))]))
    with pytest.raises(TypeError, match=r"^load_checkpoint: \[0\] is 'x', expected a sharding$"):
        tenon.load_checkpoint(tmp_path, ["x"])


def test_a_folder_without_a_checkpoint_is_an_error(tmp_path: Path):
    with pytest.raises(TenonError, match=r"^checkpoint: .* has no index\.json$"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda index: index.update(format="tenon checkpoint 2"), "its format is not 'tenon checkpoint 1'"),
        (lambda index: index.update(folder="../elsewhere"), r"its folder is '\.\./elsewhere'"),
        (lambda index: index.update(arrays={}), "it has no list of arrays"),
        (lambda index: index["arrays"].append(3), "an array has no path"),
        (lambda index: index["arrays"][0].update(dtype="object"), r"\['a'\] is of dtype 'object'"),
        (lambda index: index["arrays"][0].update(parts=[]), r"\['a'\] has no parts"),
        (lambda index: index["arrays"][0].update(shape=[7, -9]), r"\['a'\] has extents \[7, -9\]"),
        (lambda index: index["arrays"][0].update(shape=[1 << 70, 9]), r"\['a'\] has extents"),
        (lambda index: index["arrays"][0]["parts"][0].update(sha256="0"), r"a part of \['a'\] has no digest"),
        (lambda index: index["arrays"][0]["parts"][0].update(starts=[0, 5]), r"lies outside of \[7, 9\]"),
        (lambda index: index["arrays"][0]["parts"][1].update(starts=[0, 4]), "are not the whole of"),
        (lambda index: index["arrays"][0]["parts"].pop(), "are not the whole of"),
    ],
)
def test_an_index_that_is_wrong_is_an_error(tmp_path: Path, change, message: str):
    save(tmp_path, 2)
    path = tmp_path / "index.json"
    index = json.loads(path.read_text())
    change(index)
    path.write_text(json.dumps(index))
    with pytest.raises(TenonError, match=message):
        load(tmp_path)


@pytest.mark.parametrize("text", ["[", "[" * 100_000, "\xff\xfe"])
def test_an_index_that_is_no_json_is_an_error(tmp_path: Path, text: str):
    (tmp_path / "index.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(TenonError, match=r"index\.json is wrong: it is no JSON"):
        load(tmp_path)


def test_an_index_that_is_too_large_is_not_read(tmp_path: Path):
    with (tmp_path / "index.json").open("wb") as file:
        file.truncate((1 << 28) + 1)
    with pytest.raises(TenonError, match=r"has 268435457 bytes, expected less$"):
        load(tmp_path)
