"""`tenon-reduce`: makes a module smaller that shows a failure, and keeps the failure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ..dialects.modules.parsing import parse_module, verify_module
from ..errors import TenonError
from ..passes.instruments.reproducer import Reproducer
from ..passes.pass_manager import PassManager
from .diagnostics import Diagnostic
from .exit_codes import DIAGNOSTICS, SUCCESS
from .plugins import callbacks_of, check_plugins
from .reduce.command import CommandSucceeds
from .reduce.failures import Failure, FailureKind
from .reduce.module_reduction import reduce_module
from .reduce.predicates import FailsLike
from .reduce.search import Progress, Question
from .reduce.trial import Trial
from .reduce_arguments import parse_arguments
from .source_text import display_name, read_source
from .tool_run import ToolRun, reason_of

TOOL = "tenon-reduce"


class TenonReduce:
    """One call of the tool."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.args = parse_arguments(arguments)
        self.file = display_name(self.args.input_file)
        self._reproducer: Reproducer | None = None
        self._n_trials = 0

    def execute(self) -> int:
        """Does what the arguments ask for and returns the exit code."""
        source = read_source(self.args.input_file)
        text = source
        if self.args.test is None and (reproducer := Reproducer.read(source)):
            text = reproducer.text
            check_plugins(reproducer.plugins, self.args.plugins)
            PassManager(reproducer.pipeline)
            if self.args.passes is None:
                self._reproducer = reproducer
        try:
            module = parse_module(text, self.file)
            verify_module(module)
        except TenonError as error:
            for diagnostic in Diagnostic.all_of(error, self.file):
                sys.stderr.write(diagnostic.format(self.file, source))
            return DIAGNOSTICS
        if self.args.test is not None:
            question: Question = CommandSucceeds(self.args.test, self.args.timeout)
            if not question(module):
                raise TenonError(f"--test: {self.args.test[0]} does not exit with 0 for {self.file} itself")
            reduced = self._reduce(module, question)
        else:
            trial, failure = self._find(module)
            self._say(f"found {failure}")
            reduced = self._reduce(module, FailsLike(trial, failure))
            if failure.kind is FailureKind.NUMBERS:
                self._name_pass(trial, reduced)
        self._write(reduced)
        return SUCCESS

    def _find(self, module: ModuleOp) -> tuple[Trial, Failure]:
        """Returns what fails, and the trial that finds it."""
        args, again = self.args, self._reproducer
        pipeline = args.passes if again is None else again.pipeline
        trial = Trial(
            args.backend or (None if pipeline is not None else "llvm"),
            pipeline,
            args.entry,
            (args.seed,),
            args.verify_each and (again is None or again.verify_each),
            args.verify_semantics,
            args.timeout,
            args.target,
            callbacks=callbacks_of(args.plugins),
        )
        trials = [trial] if args.verify_semantics else [trial, replace(trial, verify_semantics=True)]
        for trial in trials:
            if (failure := trial.failure(module)) is not None:
                return trial, failure
        done = (
            "its passes run" if trial.backend is None else f"{trial.backend} gives the interpreter's numbers"
        )
        raise TenonError(
            f"nothing is wrong with {self.file}: {done}, and no pass changes what it computes "
            f"(inputs from seed {args.seed}; hint: --seed, --test)"
        )

    def _reduce(self, module: ModuleOp, question: Question) -> ModuleOp:
        def counted(candidate: ModuleOp) -> bool:
            self._n_trials += 1
            return question(candidate)

        before = _size_text(module)
        reduced = reduce_module(module, counted, report=self._report)
        self._say(f"{before} were reduced to {_size_text(reduced)} in {self._n_trials} trials")
        return reduced

    def _report(self, progress: Progress) -> None:
        self._say(f"{progress.n_ops} ops left after {progress.n_trials} trials ({progress.reduction})")
        if self.args.output_file not in (None, "-"):
            self._write_file(progress.text)

    def _name_pass(self, trial: Trial, module: ModuleOp) -> None:
        """Says which pass makes the numbers wrong, if the interpreter finds one."""
        found = replace(trial, verify_semantics=True).failure(module)
        if found is not None and found.kind is FailureKind.SEMANTICS:
            self._say(f"note: {found}")
        else:
            self._say("note: no pass changes what the interpreter computes, so it is the backend")

    def _write(self, module: ModuleOp) -> None:
        if self.args.output_file in (None, "-"):
            sys.stdout.write(self._output(str(module)))
            sys.stdout.flush()
        else:
            self._write_file(str(module))

    def _write_file(self, text: str) -> None:
        path = Path(self.args.output_file)
        try:
            path.write_text(self._output(text), encoding="utf-8")
        except OSError as error:
            raise TenonError(f"cannot write {path}: {reason_of(error)}") from error

    def _output(self, text: str) -> str:
        """Returns what to write: a reproducer where one came in."""
        again = self._reproducer
        if again is None:
            return f"{text}\n"
        pipeline = ",".join(map(str, PassManager(again.pipeline).passes))
        return str(Reproducer(text, pipeline, again.verify_each, self.args.plugins))

    def _say(self, text: str) -> None:
        print(f"{TOOL}: {text}", file=sys.stderr, flush=True)


def _size_text(module: ModuleOp) -> str:
    n_ops = sum(1 for _ in module.walk()) - 1
    return f"{n_ops} op{'' if n_ops == 1 else 's'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-reduce` with the arguments of the process, or those given, and returns its exit code."""
    with ToolRun(TOOL) as run:
        tool = TenonReduce(sys.argv[1:] if arguments is None else arguments)
        run.debug = tool.args.debug
        run.exit_code = tool.execute()
    return run.exit_code
