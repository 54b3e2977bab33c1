"""The contract of `make check` holds each heavy library to the modules that are named for it."""

import grimp
import pytest

from tools.single_door import SingleDoor


def mistakes(*doors: str) -> list[str]:
    graph = grimp.ImportGraph()
    graph.add_module("library", is_squashed=True)
    graph.add_import(importer="house.door", imported="library")
    graph.add_import(importer="house.window", imported="library")
    contract = SingleDoor("doors", {}, {"doors": [*doors]})
    found = contract.check(graph, verbose=False)
    assert found.kept == (not found.metadata["mistakes"])
    return [*found.metadata["mistakes"]]


@pytest.mark.parametrize("other", ["house.window", "house.wall"])
def test_the_imports_of_a_library_are_those_of_its_doors(other: str) -> None:
    wanted = ["house.window -> library: not a named door", "house.wall -> library: no such import"]
    assert mistakes("house.door -> library", f"{other} -> library") == ([] if other == "house.window" else wanted)
