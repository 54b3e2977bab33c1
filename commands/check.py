"""`steeplechase check`: the contracts of every option and factory in a folder, one line each."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from commands.arguments import choose, folder_named
from configuration.loading import LATENCY_SECTION
from configuration.plugin_declarations import DOWNSTREAM, SUBLAYER_MODULES, SUBLAYERS
from configuration.plugins import Plugin, load_plugin
from configuration.yaml import read_file, scales
from foundation.schema import OpenOption, axis_of, open_axes, option_in
from models.contract import Outcome
from models.module_contracts import module_outcomes
from models.option_contracts import contracts_of
from runners.search.structure_contracts import structure_contracts
from runners.training.recipe_contracts import recipe_contracts
from search_space.convolution import ConvolutionOption
from search_space.module_architecture import ModuleArchitecture
from search_space.optimiser import OptimiserOption
from search_space.schedule import ScheduleOption
from search_space.structure import StructureOption
from search_space.sublayer import lettered_sublayer
from tasks.candidate_contracts import candidate_contracts
from tasks.contract_candidates import PLACED
from tasks.corpora.option import CorpusOption
from tasks.corpus_contracts import corpus_contracts
from tasks.downstream import find_task
from tasks.sublayer_contracts import sublayer_contracts
from tasks.task_contracts import task_contracts

EXPERIMENT = "experiment"
"""The key that every experiment file has."""
OPTIONS = ("search_space", "tasks.corpora")
"""Packages whose files are options of axes."""
FACTORIES = "models"
"""The package of files with factories."""
OF_AXES: Mapping[type, Callable[[Any], Iterator[Outcome]]] = {
    ConvolutionOption: contracts_of,
    CorpusOption: corpus_contracts,
    OptimiserOption: recipe_contracts,
    ScheduleOption: recipe_contracts,
    StructureOption: structure_contracts,
    **dict.fromkeys(PLACED, candidate_contracts),
}
"""The contracts of every open axis."""


def check(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="A folder that mirrors the repository's tree.", parser=folder_named),
    ],
) -> None:
    """Check every option of a plugin, and every module of its experiments; exit with 1 if a contract is broken."""
    console = Console(highlight=False)
    plugin = load_plugin(folder)
    outcomes = [*checked(plugin), *unused_files(plugin), *checked_experiments(folder)]
    for outcome in outcomes:
        console.print(line_of(outcome), markup=False, soft_wrap=True)
    broken = sum(bool(outcome.problem) for outcome in outcomes)
    kept = sum(not (outcome.problem or outcome.skipped) for outcome in outcomes)
    console.print(f"{kept} contracts hold, {broken} are broken, {len(outcomes) - kept - broken} were skipped")
    if broken:
        raise typer.Exit(1)


def checked(plugin: Plugin) -> Iterator[Outcome]:
    """Yield the outcomes of every option and task of a plugin that is loaded."""
    for module in plugin.files:
        package, _, name = module.rpartition(".")
        axis = axis_of(package) if package.startswith(OPTIONS) else None
        option = None if axis is None else option_in(import_module(module), axis)
        if option is not None:
            yield from outcomes_of_option(option)
        elif package == SUBLAYERS and (sublayer := lettered_sublayer(import_module(module))) is not None:
            yield from sublayer_contracts(sublayer)
        elif package == DOWNSTREAM and not name.startswith("_"):
            yield from task_contracts(find_task(name))


def outcomes_of_option(option: type[OpenOption]) -> Iterator[Outcome]:
    """Return the outcomes of the contracts of an option's axis."""
    return next(OF_AXES[axis](option) for axis in option.__mro__ if axis in OF_AXES)


def unused_files(plugin: Plugin) -> Iterator[Outcome]:
    """Yield a broken contract per file that no declaration of the plugin uses, by its name or an import.

    A file directly in models/ may hold factories, which experiments name.
    """
    declared = {name for name in plugin.files if _declares(name)}
    used = set[str]().union(*map(plugin.source, declared))
    for module in sorted(plugin.files.keys() - used):
        package, _, name = module.rpartition(".")
        if package == FACTORIES or name.startswith("_"):
            continue
        place = f"{module.replace('.', '/')}.py"
        axis = next((each for each in open_axes() if each.modules == package), None)
        declaration = SUBLAYERS if package == SUBLAYER_MODULES else axis.package if axis is not None else None
        missing = (
            "it declares nothing, and no file imports it"
            if declaration is None
            else f"its declaration {declaration.replace('.', '/')}/{name}.py is missing"
        )
        yield Outcome(place, "a declaration uses every file", problem=missing)


def _declares(module: str) -> bool:
    """Return whether a file declares an option, a sublayer or a task."""
    package, _, name = module.rpartition(".")
    if package == SUBLAYERS:
        return lettered_sublayer(import_module(module)) is not None
    if package == DOWNSTREAM:
        return not name.startswith("_")
    axis = axis_of(package) if package.startswith(OPTIONS) else None
    return axis is not None and option_in(import_module(module), axis) is not None


def checked_experiments(folder: Path) -> Iterator[Outcome]:
    """Yield the outcomes of every architecture of kind module in the experiments of a folder, at every scale."""
    for file in sorted(folder.glob("*.yaml")):
        keys = read_file(file).keys
        for scale in (scales(file) or (None,)) if EXPERIMENT in keys and LATENCY_SECTION not in keys else ():
            for arm in choose(file, scale).experiment.arms:
                if isinstance(arm.candidate.architecture, ModuleArchitecture):
                    title = f"{file.name}{f' at {scale}' if scale else ''}, {arm.name}"
                    yield from module_outcomes(arm.candidate.architecture, title)


def line_of(outcome: Outcome) -> str:
    """Return an outcome as a line: its verdict, the option, the contract, and the reason."""
    verdict = "broken " if outcome.problem else "skipped" if outcome.skipped else "holds  "
    reason = outcome.problem or outcome.skipped
    return f"{verdict}  {outcome.option}: {outcome.contract}{f': {reason}' if reason else ''}"
