"""Initial checkpoints that an experiment file names: a Hugging Face folder is imported, and what it fixes is filled in.

An imported folder is named by the hash of its source, so that it is imported once. The architecture and the tokenizer
that the file leaves out are those of its checkpoint, and so is the architecture of an arm with another one.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

from configuration.initial_checkpoint import InitialCheckpoint, is_initial_checkpoint, read_initial_checkpoint
from configuration.yaml import ConfigurationFile
from configuration.yaml.nodes import Entries, Items, Leaf, Node, child
from configuration.yaml.released_baseline import BASELINE_KEY, LIKE_KEY, located
from foundation.atomic_files import sha256_of
from foundation.errors import ConflictError, UserError
from foundation.schema import canonical
from ledger.paths import RESULTS
from search_space.overrides import INIT_CHECKPOINT
from tasks.data_folder import resolved

IMPORTED = Path(RESULTS) / "imported"
CONFIG = "config.json"
SOURCES = ("*.json", "*.txt", "*.model", "*.safetensors")
"""The files of a Hugging Face folder that a checkpoint is made of."""
DIGITS = 16


def with_checkpoints(file: ConfigurationFile) -> ConfigurationFile:
    """Return the file with its Hugging Face folders imported, and with what its initial checkpoints fix.

    Raises DataError with the reasons why a folder cannot be imported.
    """
    documents = {scale: _completed(_imported(document)) for scale, document in file.documents.items()}
    return replace(file, documents=documents)


def _imported(document: Entries) -> Entries:
    """Return the document with every initial checkpoint as the folder that has it."""

    def folders(node: Node, named: bool) -> Node:
        if isinstance(node, Entries):
            below = {
                key: folders(each, key.rpartition(".")[2] == INIT_CHECKPOINT) for key, each in node.nodes.items()
            }
            return replace(node, nodes=below)
        if isinstance(node, Items):
            return replace(node, nodes=tuple(folders(each, named) for each in node.nodes))
        return replace(node, value=str(_folder(node.value))) if named and isinstance(node.value, str) else node

    found = folders(document, False)
    assert isinstance(found, Entries)
    return found


def _folder(name: str) -> Path:
    """Return the initial checkpoint of a folder: the folder itself, or what is imported from it."""
    folder = resolved(name)
    if is_initial_checkpoint(folder) or not (folder / CONFIG).is_file():
        return folder
    from commands.import_ import say, write_checkpoint

    out = IMPORTED / f"{folder.resolve().name}-{_content(folder)[:DIGITS]}"
    if not is_initial_checkpoint(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            notes = write_checkpoint(folder, out)
        except ConflictError:
            if not is_initial_checkpoint(out):  # else another command has imported it meanwhile
                raise
        else:
            say([*(f"note: {note}" for note in notes), f"imported: {folder} as {out}"])
    return out


def _content(folder: Path) -> str:
    """Return the hash of the names and contents of a folder's files."""
    files = sorted({path for pattern in SOURCES for path in folder.glob(pattern) if path.is_file()})
    return hashlib.sha256("\n".join(f"{path.name} {sha256_of(path)}" for path in files).encode()).hexdigest()


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
    """Return the checkpoint that a node names; None where there is none that can be read, which validation reports."""
    if not isinstance(node, Leaf) or not isinstance(node.value, str):
        return None
    try:
        return read_initial_checkpoint(resolved(node.value))
    except UserError:
        return None
