"""A file that holds all that is needed to run a pipeline again."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_TRAILER = re.compile(r"\{-#\s*external_resources:\s*\{(?P<groups>.*?)\}\s*#-\}\s*\Z", re.DOTALL)
_STRING = r'\s*"((?:[^"\\]|\\.)*)"'
_VERIFY_EACH = re.compile(r"\bverify_each:\s*(true|false)")


@dataclass(frozen=True)
class Plugins:
    """
    Python modules to import before text is read: `dialects` register ops and `passes` passes of their own;
    `callbacks` have the functions that programs call back. Each is a module's name or a file's path.
    """

    dialects: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()


NO_PLUGINS = Plugins()


@dataclass(frozen=True)
class Reproducer:
    """
    A module's text, the pipeline to run on it (in `builtin.module(...)` or not), and what was imported
    before; `str` gives MLIR's form, the text followed by

    ```mlir
    {-#
      external_resources: {
        mlir_reproducer: {
          pipeline: "builtin.module(canonicalize-graph)",
          verify_each: true
        },
        tenon_reproducer: {
          load_dialect: "mine",
          load_pass_plugin: "/home/me/my_passes.py"
        }
      }
    #-}
    ```

    where the last group is there only if something was imported. It is for the reader: no tool imports
    what a file names.
    """

    text: str
    pipeline: str
    verify_each: bool = True
    plugins: Plugins = NO_PLUGINS

    def __str__(self) -> str:
        pipeline = self.pipeline
        if not pipeline.startswith("builtin.module("):
            pipeline = f"builtin.module({pipeline})"
        plugins = {
            "load_dialect": self.plugins.dialects,
            "load_pass_plugin": self.plugins.passes,
            "load_callbacks": self.plugins.callbacks,
        }
        groups = [
            _group(
                "mlir_reproducer",
                pipeline=_quoted(pipeline),
                verify_each=str(self.verify_each).lower(),
            )
        ]
        if imported := {key: _quoted(shlex.join(names)) for key, names in plugins.items() if names}:
            groups.append(_group("tenon_reproducer", **imported))
        listed = ",\n".join(groups)
        return f"{self.text.rstrip()}\n\n{{-#\n  external_resources: {{\n{listed}\n  }}\n#-}}\n"

    @staticmethod
    def read(text: str) -> Reproducer | None:
        """Returns the reproducer that `text` is, None where it does not end in one."""
        if not (trailer := _TRAILER.search(text)):
            return None
        pipeline = _string(trailer["groups"], "pipeline")
        if pipeline is None:
            return None
        verify_each = _VERIFY_EACH.search(trailer["groups"])
        return Reproducer(
            text[: trailer.start()],
            pipeline,
            verify_each is None or verify_each[1] == "true",
            Plugins(
                _words(_string(trailer["groups"], "load_dialect")),
                _words(_string(trailer["groups"], "load_pass_plugin")),
                _words(_string(trailer["groups"], "load_callbacks")),
            ),
        )


def _group(name: str, **entries: str) -> str:
    listed = ",\n".join(f"      {key}: {value}" for key, value in entries.items())
    return f"    {name}: {{\n{listed}\n    }}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _string(groups: str, key: str) -> str | None:
    """Returns the string that stands behind `key`, None where there is none."""
    found = re.search(rf"\b{key}:{_STRING}", groups)
    return None if found is None else re.sub(r"\\(.)", r"\1", found[1])


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(shlex.split(text or ""))
