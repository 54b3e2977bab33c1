"""Values by layer: a list in place of a value, such as `heads: [12, 11]`, becomes settings of the layer program."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails

from search_space.bottleneck import canonical_ratio
from search_space.layer_program import Item, LayerProgram, Sublayer, SublayerKind, is_of
from search_space.program_parser import ITEMS_AT_MOST, InvalidProgram, parse_program
from steeplechase.foundation.schema import VARIANT_KEY

LISTS = {
    "heads": (SublayerKind.SELF_ATTENTION, "heads"),
    "key_width": (SublayerKind.SELF_ATTENTION, "key_width"),
    "value_width": (SublayerKind.SELF_ATTENTION, "value_width"),
    "feed_forward_width": (SublayerKind.FEED_FORWARD, "width"),
}
"""The letter and the setting of each size that may be a list."""
CONVOLUTION = "convolution"
BY_LAYER = {
    **LISTS,
    "feed_forward_groups": (SublayerKind.FEED_FORWARD, "groups"),
    "bottleneck_ratio": (SublayerKind.SELF_ATTENTION, "bottleneck_ratio"),
    CONVOLUTION: (SublayerKind.SELF_ATTENTION, CONVOLUTION),
    f"{CONVOLUTION}.kernel_size": (SublayerKind.SELF_ATTENTION, "kernel_size"),
}
"""The letter and the setting of each field, by its path in an architecture, that may be a list."""
BLOCKS_AT_MOST = ITEMS_AT_MOST // 2
"""Largest `depth`: each block is two sublayers of the program."""


DEPTHS = {"layers": "depth", "decoder_layers": "decoder_depth"}
"""By the field of a program: the field with its number of blocks."""


def folded(document: Mapping[str, Any], default_depth: int) -> dict[str, Any]:
    """Return an architecture's fields with a canonical program, its number of blocks, and lists as its settings.

    A program that is `(s f)*n` without settings is the depth n. Raises ValidationError with the field's name.
    """
    fields = dict(document)
    text = fields.get("layers")
    lists = lists_of(fields)
    if not isinstance(text, str) and (text is not None or not lists):
        return fields  # a text of the wrong type is refused by the field itself
    depth = fields.get("depth", default_depth)
    if text is None and not (isinstance(depth, int) and 1 <= depth <= BLOCKS_AT_MOST):
        if isinstance(depth, int) and depth > BLOCKS_AT_MOST:
            _refuse("depth", depth, f"{depth} blocks are too many; allowed: 1 to {BLOCKS_AT_MOST}")
        return fields
    program = _parsed(text) if text is not None else parse_program(f"(s f)*{depth}")
    for path, values in lists.items():
        program = _with_values(program, path, values)
        _remove(fields, path)
    program = _parsed(str(program)) if lists else program  # a value may be no text of a program
    fields["depth"] = len(program.blocks)
    fields["layers"] = None if is_plain(program) else str(program)
    return fields


def lists_of(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists by layer that an architecture's fields have, by path."""
    found: dict[str, list[Any]] = {}
    for path in BY_LAYER:
        option, _, field = path.partition(".")
        value = document.get(option)
        if field:
            value = value.get(field) if isinstance(value, Mapping) else None
        if isinstance(value, list | tuple):
            found[path] = list(value)
    return found


def list_in(layers: str | None, path: str) -> list[Any] | None:
    """Return the list that a program has as settings in place of a field; None where a sublayer lacks a value."""
    path = path.removeprefix("architecture.")
    if layers is None or path not in BY_LAYER:
        return None
    kind, setting = BY_LAYER[path]
    sublayers = [item for item in parse_program(layers).items if isinstance(item, Sublayer) and item.kind == kind]
    values = [dict(sublayer.settings).get(setting) for sublayer in sublayers]
    return values if values and None not in values else None


READERS = {
    **dict.fromkeys(
        ("heads", "key_width", "value_width"), (SublayerKind.SELF_ATTENTION, SublayerKind.CROSS_ATTENTION)
    ),
    "feed_forward_width": (SublayerKind.FEED_FORWARD,),
}
"""By size: the built-in sublayers that have it."""


def is_read(name: str, architecture: BaseModel) -> bool:
    """Return whether a size of the stack is that of a sublayer: not where each sublayer has its own.

    A plugin's sublayer may read any.
    """
    texts = [getattr(architecture, field) for field in DEPTHS if field in type(architecture).model_fields]
    if None in texts:  # the plain blocks of a depth
        return True
    setting, kinds = LISTS[name][1], READERS[name]
    sublayers = [sublayer for text in texts for sublayer in parse_program(text).sublayers()]
    foreign = any(each.kind not in [*SublayerKind] for each in sublayers)
    return foreign or any(each.kind in kinds and setting not in dict(each.settings) for each in sublayers)


def contradictory_depths(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each field with a number of blocks beside a program of another number, and what contradicts it."""
    for layers, depth in DEPTHS.items():
        text, declared = fields.get(layers), fields.get(depth)
        if not isinstance(text, str) or not isinstance(declared, int):
            continue
        try:
            blocks = len(parse_program(text).blocks)
        except InvalidProgram:  # an error elsewhere
            continue
        if blocks != declared:
            remedy = f"leave {depth} out, or write it"
            yield depth, f"{declared} contradicts {layers}, whose number of blocks is {blocks}; {remedy}"


def is_plain(program: LayerProgram) -> bool:
    """Return whether the program is `(s f)*n`, which the depth says too."""
    plain = (Sublayer(SublayerKind.SELF_ATTENTION), Sublayer(SublayerKind.FEED_FORWARD))
    return program.items == plain * (len(program.items) // 2)


def _parsed(text: str) -> LayerProgram:
    try:
        return parse_program(text)
    except InvalidProgram as error:
        _refuse("layers", text, str(error))


def _remove(fields: dict[str, Any], path: str) -> None:
    option, _, field = path.partition(".")
    if field:
        fields[option] = {name: value for name, value in fields[option].items() if name != field}
    else:
        del fields[option]


def _with_values(program: LayerProgram, path: str, values: list[Any]) -> LayerProgram:
    kind, _ = BY_LAYER[path]
    count = sum(is_of(item, kind) for item in program.items)
    if len(values) != count:
        given = "1 value" if len(values) == 1 else f"{len(values)} values"
        message = f"{given} for {count} sublayers {kind.value}; a list has one value for each"
        _refuse(path, values, message)
    try:
        remaining = iter([_settings(path, value) for value in values])
    except ValueError as error:
        _refuse(path, values, str(error))

    def valued(item: Item) -> Item:
        if not (isinstance(item, Sublayer) and item.kind == kind):
            return item
        settings, added = dict(item.settings), next(remaining)
        if settings.keys() & added.keys():
            _refuse(path, values, f"{item} of layers sets it too; set it in one place")
        return replace(item, settings=tuple(sorted({**settings, **added}.items())))

    return LayerProgram(tuple(map(valued, program.items)))


def _settings(path: str, value: Any) -> dict[str, Any]:
    """Return a value of a list as settings of its sublayer. Raises ValueError."""
    _, setting = BY_LAYER[path]
    if path == CONVOLUTION:
        option = {VARIANT_KEY: value} if isinstance(value, str) else value
        if not isinstance(option, Mapping) or VARIANT_KEY not in option:
            raise ValueError(f"{value!r} is not an option; write the name of an option, or a mapping with a kind")
        return {setting if name == VARIANT_KEY else name: each for name, each in option.items()}
    if path == "bottleneck_ratio":
        return {setting: canonical_ratio(value)}
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is no whole number from 1")
    return {setting: value}


def _refuse(path: str, value: object, message: str) -> NoReturn:
    location = tuple(path.split("."))
    fault = InitErrorDetails(type="value_error", loc=location, input=value, ctx={"error": ValueError(message)})
    raise ValidationError.from_exception_data("Architecture", [fault])
