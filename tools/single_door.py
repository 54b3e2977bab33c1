"""Contract of import-linter: a library is imported by the modules that are named for it, and by no other."""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class SingleDoor(Contract):
    """`doors = ["package.module -> library"]`: the only imports of these libraries, each of which must be there."""

    doors: Any = fields.SetField(subfield=fields.ImportExpressionField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compare the modules that import each library with those that are named for it."""
        named = {(str(door.importer), str(door.imported)) for door in self.doors}
        found = {
            (module, library)
            for library in {library for _, library in named} & graph.modules
            for module in graph.find_modules_that_directly_import(library)
        }
        mistakes = [f"{module} -> {library}: not a named door" for module, library in sorted(found - named)]
        mistakes += [f"{module} -> {library}: no such import" for module, library in sorted(named - found)]
        return ContractCheck(kept=not mistakes, metadata={"mistakes": mistakes})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each mistake."""
        for line in check.metadata["mistakes"]:
            output.print_error(line)
