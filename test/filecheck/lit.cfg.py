"""How lit runs the `.mlir` tests: with the tools of the environment that lit itself is installed in."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

root = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from warm_tools import WarmToolTest  # noqa: E402

config.name = "tenon"
config.test_format = WarmToolTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(root / "out" / "lit")
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
config.environment["HOME"] = config.test_exec_root
config.environment["PYTHONHASHSEED"] = "0"
config.environment["TENON_CACHE"] = "0"
config.environment["TENON_CACHE_DIR"] = str(root / "out" / "lit" / "cache")
if "PYTHONPATH" in os.environ:  # a checkout beside the one that is installed
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
config.available_features.add("llvm")
if find_spec("pyopencl") is not None:
    config.available_features.add("opencl")
