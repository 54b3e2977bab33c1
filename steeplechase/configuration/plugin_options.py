"""What a ledger keeps of the plugins of its experiment, so that reading it runs none of their code.

Of every option the fields with their defaults, of every sublayer its letter, of every task what its scores mean.
"""

import json
from collections.abc import Mapping

from pydantic import ValidationError

from search_space.objective import PretrainingObjective
from search_space.sublayer import add_recorded_sublayer, forget_recorded_sublayers, sublayers_by_letter
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.latency import Latency, part_flops
from steeplechase.configuration.plugin_declarations import DOWNSTREAM
from steeplechase.configuration.plugins import loaded_plugins
from steeplechase.foundation.canonical import canonical, defaults_of
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.option_modules import written_name
from steeplechase.foundation.schema import JsonValue, OpenOption, Schema, open_axes, options_changed, options_of
from steeplechase.foundation.stand_ins import add, forget_stand_ins
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.recorded_tasks import RecordedTask, add_recorded_task, forget_recorded_tasks

OPTIONS = "plugin_options"
"""The fact of a ledger; absent without plugins."""


class _Option(Schema):
    fields: Mapping[str, JsonValue]
    """By name the default, None without one."""
    evaluation: str | None = None
    """Of an objective: the kind whose evaluation set measures it."""


class _PluginOptions(Schema):
    options: Mapping[str, Mapping[str, _Option]]
    """By package of the axis and kind."""
    sublayers: Mapping[str, str]
    """The kind by letter."""
    tasks: Mapping[str, RecordedTask]
    flops: Mapping[str, Mapping[str, int]] = {}
    """The FLOPs of a timed part by arm and length; empty where none is timed."""


def recorded_options(experiment: Experiment) -> JsonValue:
    """Return what a ledger keeps of the plugins of an experiment, which are loaded; None without any."""
    modules = {module for plugin in loaded_plugins() for module in plugin.files}
    if not modules:
        return None
    names = (module.rpartition(".") for module in sorted(modules))
    found = _PluginOptions(
        options={written_name(axis.package): each for axis in open_axes() if (each := _of_axis(axis, modules))},
        sublayers={each.letter: each.kind for each in sublayers_by_letter().values() if each.__module__ in modules},
        tasks={
            name: RecordedTask.of(find_task(name))
            for package, _, name in names
            if package == DOWNSTREAM and not name.startswith("_")
        },
        flops=_flops(experiment),
    )
    return canonical(found)


def _flops(experiment: Experiment) -> dict[str, dict[str, int]]:
    if (timing := experiment.measure.settings(Latency)) is None:
        return {}
    timed = timing.timed({arm.name: arm.candidate for arm in experiment.arms})
    return {
        name: {str(each): part_flops(own, timing.part, each) for each in timing.lengths}
        for name, own in timed.items()
    }


def recorded_flops(fact: JsonValue) -> Mapping[str, Mapping[str, int]]:
    """Return the FLOPs of the timed part of an experiment with plugins, by arm and length."""
    return {} if fact is None else _read(fact).flops


def _read(fact: JsonValue) -> _PluginOptions:
    try:
        return _PluginOptions.model_validate_json(json.dumps(fact))
    except ValidationError as fault:
        reason = str(fault).partition("\n")[0]
        raise CorruptionError(f"the ledger's fact {OPTIONS} cannot be read ({reason}); restore the file") from fault


def _of_axis(axis: type[OpenOption], modules: set[str]) -> dict[str, _Option]:
    own = [option for option in options_of(axis) if option.__module__ in modules]
    return {str(each.model_fields["kind"].default): _kept(each) for each in own}


def _kept(option: type[OpenOption]) -> _Option:
    if not issubclass(option, PretrainingObjective):
        return _Option(fields=defaults_of(option))
    example = option.model_validate_json(json.dumps(dict(option.examples[0])))
    return _Option(fields=defaults_of(option), evaluation=example.evaluation)


def plugin_options_in(facts: Mapping[str, JsonValue]) -> tuple[JsonValue, ...]:
    """Return what the versions of a ledger's experiment keep of their plugins, the latest first."""
    return tuple(reversed([fact for name, fact in facts.items() if name.partition(" ")[0] == OPTIONS]))


def add_recorded_options(fact: JsonValue) -> None:
    """Let options, sublayers and tasks of a ledger's plugins be known by their fields; those with code come before.

    Raises CorruptionError for a fact of another form.
    """
    if fact is None:
        return
    recorded = _read(fact)
    for axis in open_axes():
        for kind, option in recorded.options.get(written_name(axis.package), {}).items():
            values = {} if option.evaluation is None else {"evaluation": option.evaluation}
            try:
                new = add(axis, options_of(axis), kind, option.fields, values)
            except ValueError as fault:
                raise CorruptionError(f"the ledger's fact {OPTIONS}: {kind}: {fault}; restore the file") from fault
            if new:
                options_changed()
    for letter, kind in recorded.sublayers.items():
        add_recorded_sublayer(letter, kind)
    for name, task in recorded.tasks.items():
        add_recorded_task(name, task)


def forget_recorded_options() -> None:
    """Let a file use those options, sublayers and tasks alone whose code is there."""
    if forget_stand_ins():
        options_changed()
    forget_recorded_sublayers()
    forget_recorded_tasks()
