"""What the contracts of a user's own functions share: every public function that a file defines is measured."""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

from steeplechase.models.contract import Outcome


def outcomes_of_functions(
    module: ModuleType, first: str, contracts: Callable[[str], Iterator[Outcome]]
) -> Iterator[Outcome]:
    """Yield the outcomes of each function, called `file:name`; without one, that the `first` contract is broken."""
    file = module.__name__.rpartition(".")[2]
    functions = [each for each in vars(module).values() if inspect.isfunction(each)]
    own = [each.__name__ for each in functions if each.__module__ == module.__name__ and each.__name__[0] != "_"]
    if not own:
        yield Outcome(file, first, problem="the file defines no function")
    for name in own:
        yield from contracts(f"{file}:{name}")
