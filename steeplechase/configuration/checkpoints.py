"""What the initial checkpoints of an experiment file fix, where the file leaves it out.

The architecture and the tokenizer are those of the checkpoint, and so is the architecture of an arm with another one.
"""

from collections.abc import Callable
from dataclasses import replace

from search_space.overrides import INIT_CHECKPOINT
from steeplechase.configuration.initial_checkpoint import InitialCheckpoint, read_initial_checkpoint
from steeplechase.configuration.yaml import ConfigurationFile
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node, child
from steeplechase.configuration.yaml.scales import BASELINE_KEY, LIKE_KEY, located
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import UserError
from steeplechase.tasks.data_folder import resolved


def with_checkpoints(file: ConfigurationFile) -> ConfigurationFile:
    """Return the file with the architectures and the tokenizer that its initial checkpoints fix."""
    return replace(file, documents={scale: _completed(document) for scale, document in file.documents.items()})


def with_folders(document: Entries, place: Callable[[str], str]) -> Entries:
    """Return the document with every initial checkpoint as the folder that a function gives for its name."""

    def placed(node: Node, named: bool) -> Node:
        if isinstance(node, Entries):
            below = {key: placed(each, key.rpartition(".")[2] == INIT_CHECKPOINT) for key, each in node.nodes.items()}
            return replace(node, nodes=below)
        if isinstance(node, Items):
            return replace(node, nodes=tuple(placed(each, named) for each in node.nodes))
        return replace(node, value=place(node.value)) if named and isinstance(node.value, str) else node

    found = placed(document, False)
    assert isinstance(found, Entries)
    return found


def _completed(document: Entries) -> Entries:
    """Return the document with the architectures and the tokenizer that its checkpoints fix."""
    baseline = document.nodes.get(BASELINE_KEY) or Entries(document.location.under(BASELINE_KEY), {})
    shared = _read(child(document.nodes.get("pretraining", document), INIT_CHECKPOINT))
    first = _read(child(baseline, INIT_CHECKPOINT)) or shared
    nodes = dict(document.nodes)
    if first is not None and isinstance(baseline, Entries) and not {"architecture", LIKE_KEY} & baseline.nodes.keys():
        nodes[BASELINE_KEY] = _with_architecture(baseline, first)
    if first is not None and first.tokenizer is not None and "tokenizer" not in nodes:
        nodes["tokenizer"] = located(first.tokenizer, document.location.under("tokenizer"))
    if "design" in nodes:
        nodes["design"] = _completed_design(nodes["design"], first)
    return replace(document, nodes=nodes)


def _completed_design(design: Node, first: InitialCheckpoint | None) -> Node:
    """Return a design, or a list of designs, in which the arms with another architecture declare it."""
    if isinstance(design, Items):
        return replace(design, nodes=tuple(_completed_design(each, first) for each in design.nodes))
    arms = child(design, "arms")
    if not isinstance(design, Entries) or not isinstance(arms, Entries):
        return design
    completed: dict[str, Node] = {}
    for name, arm in arms.nodes.items():
        own = _read(child(arm, INIT_CHECKPOINT))
        other = own is not None and (first is None or own.architecture != first.architecture)
        completed[name] = _with_architecture(arm, own) if own and other and isinstance(arm, Entries) else arm
    return replace(design, nodes={**design.nodes, "arms": replace(arms, nodes=completed)})


def _with_architecture(node: Entries, checkpoint: InitialCheckpoint) -> Entries:
    """Return the node with the checkpoint's architecture, unless it declares one."""
    architecture = located(canonical(checkpoint.architecture), node.location.under("architecture"))
    return replace(node, nodes={"architecture": architecture, **node.nodes})


def _read(node: Node | None) -> InitialCheckpoint | None:
    """Return the checkpoint that a node names; None where it cannot be read, which validation reports."""
    if not isinstance(node, Leaf) or not isinstance(node.value, str):
        return None
    try:
        return read_initial_checkpoint(resolved(node.value))
    except UserError:
        return None
