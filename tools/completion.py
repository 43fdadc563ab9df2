"""
Scripts by which a shell completes the arguments of a tool.

They are made of the tool's parser and ask no process of it, which would take longer than one waits for a
key. Where a list ends in commas, as that of `-p` does, the last item is completed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

SHELLS = ("bash", "zsh")

_SCRIPT = """\
{function}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" flag="${{COMP_WORDS[COMP_CWORD-1]}}" words prefix=""
  # `--flag=value` is three words.
  if [[ "$word" == "=" ]]; then
    word=""
  elif [[ "$flag" == "=" ]]; then
    flag="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  case "$flag" in
{cases}    *)
      words="{words}"
      [[ "$word" == -* ]] && words="{flags}"
      ;;
  esac
  if [[ "$word" == *,* ]]; then
    prefix="${{word%,*}},"
    word="${{word##*,}}"
  fi
  COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "$word"))
}}
complete -o default -F {function} {tool}
"""

_CASE = """\
    {flags})
      words="{words}"
      ;;
"""


def add_completion_argument(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,  # pyright: ignore[reportPrivateUsage]
    values: Mapping[str, Iterable[str]],
) -> None:
    """Adds the flag that prints a script. `values` are those that arguments take, by their `dest`."""
    parser.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=_PrintScript,
        const=values,
        help="print what completes these arguments in a shell: source <(%(prog)s --print-completion bash)",
    )


class _PrintScript(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        sys.stdout.write(completion_script(parser, str(values), self.const))
        parser.exit()


def completion_script(
    parser: argparse.ArgumentParser, shell: str, values: Mapping[str, Iterable[str]]
) -> str:
    """
    Returns a script for one of `SHELLS` that completes the flags of a parser and its commands, and what they
    take: their choices, else what `values` has for them by their `dest`, else files.
    """
    flags: list[str] = []
    words: list[str] = []
    cases: list[str] = []
    for action in _actions(parser):
        if not action.option_strings:
            words += map(str, action.choices or ())
            continue
        flags += action.option_strings
        if action.nargs != 0:
            taken = action.choices or values.get(action.dest, ())
            cases.append(_CASE.format(flags="|".join(action.option_strings), words=" ".join(map(str, taken))))
    script = _SCRIPT.format(
        function=f"_{parser.prog.replace('-', '_')}",
        tool=parser.prog,
        cases="".join(dict.fromkeys(cases)),
        words=" ".join(words),
        flags=" ".join(dict.fromkeys(flags)),
    )
    return script if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{script}"


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    """Yields the arguments of a parser and those of its commands."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield action
        if isinstance(action.choices, dict):
            commands = cast(Mapping[str, argparse.ArgumentParser], action.choices)
            for command in commands.values():
                yield from _actions(command)
