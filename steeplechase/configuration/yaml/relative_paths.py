"""Relative paths of a file: from the working directory, or else from the folder of the file that names them."""

from dataclasses import replace
from pathlib import Path

from steeplechase.configuration.yaml.nodes import Entries, Items, Node
from steeplechase.tasks.data_folder import PATHS

OF_DATA = PATHS | {"paths", "data"}
"""Keys whose text, or each text of whose list, is the path of a file or a folder."""


def with_paths_beside(document: Entries, folder: Path) -> Entries:
    """Return a document whose paths begin with the folder where it has the file and the working directory has not."""
    return replace(document, nodes={key: _node(key, node, folder) for key, node in document.nodes.items()})


def _node(key: str, node: Node, folder: Path) -> Node:
    if isinstance(node, Entries):
        return with_paths_beside(node, folder)
    if isinstance(node, Items):
        return replace(node, nodes=tuple(_node(key, each, folder) for each in node.nodes))
    if key in OF_DATA and isinstance(node.value, str) and _is_beside(node.value, folder):
        return replace(node, value=str(folder / node.value))
    return node


def _is_beside(path: str, folder: Path) -> bool:
    try:
        return path != "" and not Path(path).exists() and (folder / path).exists()
    except (OSError, ValueError):  # no name of a file
        return False
