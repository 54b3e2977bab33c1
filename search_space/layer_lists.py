"""Per-layer sizes: a list in place of a number, such as `heads: [12, 11]`, becomes settings of the layer program."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails

from search_space.layer_program import Item, LayerProgram, Sublayer, SublayerKind, is_of
from search_space.program_parser import ITEMS_AT_MOST, InvalidProgram, parse_program

LISTS = {
    "heads": (SublayerKind.SELF_ATTENTION, "heads"),
    "key_width": (SublayerKind.SELF_ATTENTION, "key_width"),
    "value_width": (SublayerKind.SELF_ATTENTION, "value_width"),
    "feed_forward_width": (SublayerKind.FEED_FORWARD, "width"),
}
"""The letter and the setting of each field that may be a list."""
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
    lists = {name: list(value) for name in LISTS if isinstance(value := fields.get(name), list | tuple)}
    if not isinstance(text, str) and (text is not None or not lists):
        return fields  # a text of the wrong type is refused by the field itself
    depth = fields.get("depth", default_depth)
    if text is None and not (isinstance(depth, int) and 1 <= depth <= BLOCKS_AT_MOST):
        if isinstance(depth, int) and depth > BLOCKS_AT_MOST:
            _refuse("depth", depth, f"{depth} blocks are too many; allowed: 1 to {BLOCKS_AT_MOST}")
        return fields
    program = _parsed(text) if text is not None else parse_program(f"(s f)*{depth}")
    for name, sizes in lists.items():
        program = _with_sizes(program, name, sizes)
        del fields[name]
    fields["depth"] = len(program.blocks)
    fields["layers"] = None if is_plain(program) else str(program)
    return fields


def list_in(layers: str | None, name: str) -> list[Any] | None:
    """Return the list that a program has as settings in place of a field; None where a sublayer lacks a size."""
    if layers is None or name not in LISTS:
        return None
    kind, setting = LISTS[name]
    sublayers = [item for item in parse_program(layers).items if isinstance(item, Sublayer) and item.kind == kind]
    sizes = [dict(sublayer.settings).get(setting) for sublayer in sublayers]
    return sizes if sizes and None not in sizes else None


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


def _with_sizes(program: LayerProgram, name: str, sizes: list[Any]) -> LayerProgram:
    kind, setting = LISTS[name]
    count = sum(is_of(item, kind) for item in program.items)
    if len(sizes) != count:
        message = f"{len(sizes)} sizes for {count} sublayers {kind.value}; a list has one size for each"
        _refuse(name, sizes, message)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            _refuse(name, sizes, f"{size!r} is no whole number from 1")
    remaining = iter(sizes)

    def sized(item: Item) -> Item:
        if not (isinstance(item, Sublayer) and item.kind == kind):
            return item
        settings = dict(item.settings)
        if setting in settings:
            _refuse(name, sizes, f"{item} of layers sets it too; set it in one place")
        return replace(item, settings=tuple(sorted({**settings, setting: next(remaining)}.items())))

    return LayerProgram(tuple(map(sized, program.items)))


def _refuse(name: str, value: object, message: str) -> NoReturn:
    fault = InitErrorDetails(type="value_error", loc=(name,), input=value, ctx={"error": ValueError(message)})
    raise ValidationError.from_exception_data("Architecture", [fault])
