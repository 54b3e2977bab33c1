"""Measures a plugin, and the factories of its experiments, by every contract."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from runners.search.structure_contracts import structure_contracts
from runners.training.recipe_contracts import recipe_contracts
from search_space.convolution.option import ConvolutionOption
from search_space.module_architecture import ModuleArchitecture
from search_space.optimiser.option import OptimiserOption
from search_space.schedule.option import ScheduleOption
from search_space.structure import StructureOption
from search_space.sublayer import lettered_sublayer
from search_space.sublayer.sublayer import LetteredSublayer
from steeplechase.commands.arguments import choose
from steeplechase.configuration.plugin_declarations import DOWNSTREAM, SUBLAYERS, option_in
from steeplechase.configuration.plugins import Plugin, load_plugin
from steeplechase.configuration.yaml import read_file, scales
from steeplechase.foundation.errors import UserError
from steeplechase.foundation.option_modules import place_of
from steeplechase.foundation.plugin_code import explained
from steeplechase.foundation.schema import OpenOption, axis_of, open_axes
from steeplechase.models.contract import Outcome
from steeplechase.models.module_contracts import module_outcomes
from steeplechase.models.option_contracts import contracts_of
from steeplechase.tasks.contracts.candidates import candidate_contracts
from steeplechase.tasks.contracts.corpora import corpus_contracts
from steeplechase.tasks.contracts.own_functions import own_measurement_contracts, own_metric_contracts
from steeplechase.tasks.contracts.small_candidates import PLACED
from steeplechase.tasks.contracts.sublayers import sublayer_contracts
from steeplechase.tasks.contracts.tasks import documentation, first_documents, task_contracts
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.own_measurements import PACKAGE as OWN_MEASUREMENTS

EXPERIMENT = "experiment"
"""The key that every experiment file has."""
OPTIONS = ("search_space", "steeplechase.tasks.corpora")
"""Packages whose files are options of axes."""
FACTORIES = "steeplechase.models"
OWN_METRICS = "steeplechase.tasks.own_metrics"
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


def measured(folder: Path) -> Iterator[str | Outcome]:
    """Yield the outcome of every contract; before code of the plugin runs, the place that it is needed for."""
    yield str(folder)
    plugin = load_plugin(folder)
    for module in plugin.files:
        yield _path_of(module)
        try:
            yield from checked_file(module, folder)
        except Exception as error:  # of the plugin's code, before any contract
            yield Outcome(_path_of(module), "it can be measured", problem=explained(error))
    yield from unused_files(plugin)
    for file in sorted(folder.glob("*.yaml")):
        yield file.name
        yield from checked_experiment(file)


def checked(plugin: Plugin) -> Iterator[Outcome]:
    """Yield the outcomes of every option and task of a plugin that is loaded."""
    for module in plugin.files:
        yield from checked_file(module, plugin.folder)


def checked_file(module: str, folder: Path) -> Iterator[Outcome]:
    """Yield the outcomes of what a plugin's file declares: an option, a sublayer, a task, metrics, measurements."""
    package, _, name = module.rpartition(".")
    axis = axis_of(package) if package.startswith(OPTIONS) else None
    option = None if axis is None else option_in(import_module(module), axis)
    if option is not None:
        yield from outcomes_of_option(option)
    elif package == SUBLAYERS and (sublayer := lettered_sublayer(import_module(module))) is not None:
        yield from sublayer_contracts(sublayer)
    elif package == DOWNSTREAM and not name.startswith("_"):
        yield from task_contracts(find_task(name), documents_for(name, folder))
    elif package == OWN_METRICS and not name.startswith("_"):
        yield from own_metric_contracts(import_module(module))
    elif package == OWN_MEASUREMENTS and not name.startswith("_"):
        yield from own_measurement_contracts(import_module(module))


def documents_for(task: str, folder: Path) -> Callable[[], tuple[Document, ...]]:
    """Return what reads the corpus of the first experiment of a folder that has a task, else the documentation."""
    for file in sorted(folder.glob("*.yaml")):
        for scale in _scales_of(file)[:1]:
            try:
                experiment = choose(file, scale).experiment
            except UserError:
                continue  # which has lines of its own
            if task in experiment.fine_tuning.tasks:
                return partial(first_documents, experiment.fine_tuning.corpus or experiment.corpus)
    return documentation


def outcomes_of_option(option: type[OpenOption]) -> Iterator[Outcome]:
    """Return the outcomes of the contracts of an option's axis."""
    return next(OF_AXES[axis](option) for axis in option.__mro__ if axis in OF_AXES)


def unused_files(plugin: Plugin) -> Iterator[Outcome]:
    """Yield a broken contract per file that no declaration of the plugin uses, by its name or an import.

    A file directly in models/ may hold factories, which experiments name.
    """
    declared = {name for name in plugin.files if _declares(name)}
    used = set[str]().union(*map(plugin.source, declared))
    for module in sorted(plugin.files.keys() - used, key=place_of):
        package, _, name = module.rpartition(".")
        if package == FACTORIES or name.startswith("_"):
            continue
        place = _path_of(module)
        axis = next((each for each in open_axes() if each.modules == package), None)
        declaration = SUBLAYERS if package == LetteredSublayer.modules else axis.package if axis is not None else None
        missing = (
            "it declares nothing, and no file imports it"
            if declaration is None
            else f"its declaration {place_of(declaration)}/{name}.py is missing"
        )
        yield Outcome(place, "a declaration uses every file", problem=missing)


def _declares(module: str) -> bool:
    """Return whether a file declares an option, a sublayer or a task."""
    package, _, name = module.rpartition(".")
    if package == SUBLAYERS:
        return lettered_sublayer(import_module(module)) is not None
    if package in (DOWNSTREAM, OWN_METRICS, OWN_MEASUREMENTS):
        return not name.startswith("_")
    axis = axis_of(package) if package.startswith(OPTIONS) else None
    return axis is not None and option_in(import_module(module), axis) is not None


def _path_of(module: str) -> str:
    return f"{place_of(module)}.py"


def checked_experiment(file: Path) -> Iterator[Outcome]:
    """Yield the outcomes of every architecture of kind module in an experiment, at every scale."""
    for scale in _scales_of(file):
        for arm in choose(file, scale).experiment.arms:
            if isinstance(arm.candidate.architecture, ModuleArchitecture):
                title = f"{file.name}{f' at {scale}' if scale else ''}, {arm.name}"
                yield from module_outcomes(arm.candidate.architecture, title)


def _scales_of(file: Path) -> tuple[str | None, ...]:
    """Return the scales of an experiment that trains, None for one without; none of any other file."""
    keys = read_file(file).keys
    return (scales(file) or (None,)) if {EXPERIMENT, "pretraining"} <= keys else ()
