"""Text form of a description: a diagram of the block, then costs by component."""

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.align import Align
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from reports.table import printable
from search_space.activation import TITLES
from search_space.activation_memory import RULE
from search_space.architecture import Architecture
from search_space.cost import Role
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.layer_program import LayerProgram, compact
from search_space.module_architecture import ModuleArchitecture
from search_space.released.differences import Publication
from search_space.stack import Block
from search_space.summary import Description, PartCost, receptive_field
from steeplechase.configuration.arm import COUNTED

PICTURE_WIDTH = 64
VISIBLE = {"left_to_right": "all up to itself", "right_to_left": "all from itself on"}
"""What a token reads under a visibility that hides a side."""


def show(description: Description, publication: Publication | None) -> None:
    """Print the description, with what is known of a published model."""
    console = Console(highlight=False)
    subject = description.subject
    text(console, f"{subject.name}: {description.parameters:,} parameters", "bold")
    text(console, f"sequences of {description.length} tokens, {description.batch} in a batch")
    console.print()
    if isinstance(subject.architecture, ModuleArchitecture):
        given = ", ".join(f"{name}={value}" for name, value in subject.architecture.arguments.items())
        text(console, f"{subject.architecture.factory}({printable(given)}), {COUNTED}")
        console.print(_costs(description))
    else:
        console.print(picture(subject.architecture))
        console.print(_costs(description))
        if any(share.width for share in description.branches.values()):
            console.print(_branches(description))
    for line in (*_lines(description), *_training(description, publication)):
        text(console, line)


def text(console: Console, line: str, style: str = "") -> None:
    """Print a line without markup, since names come from the user."""
    console.print(Text(line, style=style))


def picture(architecture: Architecture) -> RenderableType:
    """Return a diagram of one block, from its input at the top to its output at the bottom; else of all blocks."""
    if isinstance(architecture, EncoderDecoderArchitecture):
        placement = architecture.normalisation.kind
        encoder = _stack_picture(architecture.program, architecture.blocks, placement, "encoder")
        decoder = _stack_picture(architecture.decoder_program, architecture.decoder_blocks, placement, "decoder")
        return Group(encoder, decoder)
    if architecture.layers is not None or architecture.normalisation.kind != "post_norm":
        return _stack_picture(architecture.program, architecture.blocks, architecture.normalisation.kind)
    width, shape, groups = architecture.width, architecture.attention_shape, architecture.feed_forward_groups
    heads = "1 head" if shape.heads == 1 else f"{shape.heads} heads"
    sides = [_box("self-attention", f"{heads} of {shape.head_width}\n{width} -> {shape.inner_width} channels")]
    convolution = architecture.convolution
    own = architecture.context_width - shape.inner_width
    if own:
        window = "" if convolution.reach is None else f"window of {convolution.reach.tokens} tokens\n"
        sides.append(_box(convolution.kind, f"{window}{width} -> {own} channels"))
    branches = Table.grid(expand=True)
    for _ in sides:
        branches.add_column(ratio=1)
    branches.add_row(*sides)
    joined = "concatenated, then " if len(sides) > 1 else ""
    inner = f"{width} -> {architecture.feed_forward_width} -> {width}"
    grouped = f", {groups} groups" if groups > 1 else ""
    block = Group(
        branches,
        _row(f"{joined}output map {architecture.context_width} -> {width}"),
        _row("+ input, layer normalisation"),
        _box("feed-forward", f"{inner}{grouped}, {TITLES[architecture.feed_forward_activation]}"),
        _row("+ its input, layer normalisation"),
    )
    return Panel(block, title=_blocks(architecture.depth), width=PICTURE_WIDTH, box=box.HEAVY)


def _stack_picture(program: LayerProgram, made: Sequence[Block], placement: str, stack: str = "") -> RenderableType:
    """Return the layer program and, for each different block in order, its sublayers with their sizes."""
    lines: list[RenderableType] = [_row(compact(program))]
    for block in dict.fromkeys(made):
        lines.append(_box(f"{_blocks(made.count(block))}, {placement.replace('_', '-')}", "\n".join(map(str, block))))
    title = f"{stack}, {_blocks(len(made))}".removeprefix(", ")
    return Panel(Group(*lines), title=title, width=PICTURE_WIDTH, box=box.HEAVY)


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _box(title: str, inside: str) -> Panel:
    return Panel(Align.center(Text(inside, justify="center")), title=title, box=box.SQUARE)


def _row(inside: str) -> Align:
    return Align.center(Text(inside))


def _costs(description: Description) -> Table:
    table = _table("part", "parameters", "in a block", "FLOPs", "in a block")
    blocks = [part for part in description.parts if part.role.in_block]
    equal = description.subject.architecture.layers is None
    for name, parts in _by_name(description.parts).items():
        if any(part.parameters or part.forward_flops for part in parts):
            table.add_row(*_cost_cells(name, parts, parts[0].copies if equal and parts[0].role.in_block else None))
    table.add_section()
    within = _cost_cells("", blocks, blocks[0].copies if equal and blocks else None)
    whole = _cost_cells("encoder", description.parts, None)
    table.add_row(whole[0], whole[1], within[2], whole[3], within[4], style="bold")
    for name, parts in _added(description.heads).items():
        table.add_row(*_cost_cells(f"+ {name}", parts, None))
    return table


def _cost_cells(name: str, parts: Sequence[PartCost], copies: int | None) -> tuple[str, str, str, str, str]:
    """Return the cells of a row: total costs of the components, and costs per copy if there are several."""
    parameters, flops = sum(part.parameters for part in parts), sum(part.forward_flops for part in parts)
    if copies is None:
        return name, f"{parameters:,}", "", power(flops), ""
    once = sum(part.parameters // max(1, part.distinct) for part in parts)
    return name, f"{parameters:,}", f"{once:,}", power(flops), power(flops // copies)


def _by_name(parts: Iterable[PartCost]) -> dict[str, list[PartCost]]:
    """Return the components by name; blocks that differ have several of one name."""
    rows: dict[str, list[PartCost]] = {}
    for part in parts:
        rows.setdefault(part.name, []).append(part)
    return rows


def _added(heads: Iterable[PartCost]) -> dict[str, list[PartCost]]:
    """Return the components that pretraining adds, by name: each head, and the generator's encoder as one."""
    rows: dict[str, list[PartCost]] = {}
    for part in heads:
        rows.setdefault(part.name if part.role.is_head else part.owner, []).append(part)
    return rows


def _branches(description: Description) -> Table:
    table = _table("branch", "parameters", "FLOPs", "of the concatenation")
    for name, share in description.branches.items():
        table.add_row(name, *(f"{part:.1%}" for part in (share.parameters, share.forward_flops, share.width)))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position else "left")
    return table


def _lines(description: Description) -> Iterator[str]:
    counted = description.subject.architecture.is_counted
    readings = [] if counted else [*_readings(description)]
    if readings:
        yield f"receptive field: {', '.join(readings)}{' alone' if len(readings) == 1 else ''}"
    memory = " or ".join(
        f"{size.total / 1e6:,.1f} MB in {name}" + ("" if counted else f" ({size.block / 1e6:,.1f} MB a block)")
        for name, size in description.memory.items()
    )
    yield f"kept for the backward pass: {memory}"
    yield f"  {RULE}"
    yield f"FLOPs of one sequence by {description.convention.name}"
    yield f"  {description.convention.rule}"


def _readings(description: Description) -> Iterator[str]:
    """Yield what a token reads, by the parts that read others; a sublayer of a plugin is not known to."""
    architecture, roles = description.subject.architecture, {part.role for part in description.parts}
    reach, visible = receptive_field(architecture), VISIBLE.get(architecture.visibility, "all")
    if reach is not None:
        yield f"{reach} tokens by the convolutions"
    if Role.ATTENTION_SCORES in roles:
        yield f"{visible}{'' if reach is None else f' {description.length}'} by attention"
    if Role.RECURRENT in roles:
        yield f"{visible} by recurrence"


def _training(description: Description, publication: Publication | None) -> Iterator[str]:
    if description.update_flops is not None:
        yield f"one pretraining update: {power(description.update_flops)} FLOPs"
    if publication is None:
        return
    whole = description.train_flops(publication.updates)
    if whole is not None:
        yield f"as published, {publication.updates:,} updates: {power(whole)} FLOPs"
    yield publication.counted
    yield from (f"note: {note}" for note in publication.notes)


def power(number: int) -> str:
    """Return a count in short: 2.48e9."""
    return f"{number:.2e}".replace("e+0", "e").replace("e+", "e") if number else "0"
