"""An architecture that is any torch module: a factory with its arguments, counted on the built module.

A factory returns a module `forward(tokens [batch seq], padding_mask [batch seq] | None) -> [batch seq width]`;
`padding_mask` is True for tokens. The output layer of masked language modelling is tied to the module's
`get_input_embeddings()`, and has a table of its own without them. The factory draws the initial weights, by the seed.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.layer_program import LayerProgram
from search_space.module_counts import Counts, ModuleFault, counted
from search_space.module_factories import factory_module
from search_space.shape import AttentionShape
from search_space.stack import Block
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import OfForm

Scalar = bool | int | float | str | None
FACTORY = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
"""`module:function`."""


class ModuleArchitecture(Architecture):
    """A module built by a factory; its size is counted, not declared."""

    own_fields: ClassVar[tuple[str, ...]] = (
        *("kind", "factory", "arguments", "vocabulary_size", "positions", "width", "embedding_width"),
    )
    kind: Literal["module"] = "module"
    """Chooses a module of your own in place of the encoder."""
    factory: Annotated[str, OfForm(FACTORY, "my_package.model:build")] = Field(examples=["my_package.model:build"])
    """The function or class that builds the module, as `package.module:function`: of a plugin that the file lists, or
    of a package that the command line names (`--factories-of`)."""
    arguments: Mapping[str, Scalar | tuple[Scalar, ...]] = Field(default_factory=dict)
    """Its keyword arguments; each is a path that designs may vary, such as `architecture.arguments.kernel_size`."""

    @model_validator(mode="before")
    @classmethod
    def _own_fields_only(cls, document: Any) -> Any:
        """Refuse the encoder's fields, and take the width as the width of the embeddings where it is not given."""
        if not isinstance(document, Mapping):
            return document
        return cls.own_document(document, "its factory takes arguments")

    @field_validator("arguments", mode="before")
    @classmethod
    def _lists_as_tuples(cls, arguments: Any) -> Any:
        """Turn the lists of JSON into tuples, because declarations are frozen."""
        if not isinstance(arguments, Mapping):
            return arguments
        return {name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()}

    def __hash__(self) -> int:
        """Return the hash of the canonical text, because a mapping of arguments has none."""
        return hash(self._text)

    def violations(self) -> Iterator[Violation]:
        """Yield why the module cannot be built, or is not what is declared."""
        try:
            found = self._counts(1)
        except ModuleFault as fault:
            yield Violation(("factory",), str(fault))
            return
        for name, built in (("width", found.width), ("embedding_width", found.embedding_width)):
            if built is not None and built != getattr(self, name):
                yield Violation((name,), f"{getattr(self, name)} is declared; the built module has {built}")
        tokens = found.token_embeddings
        if tokens is not None and tokens < self.vocabulary_size:
            message = f"{self.vocabulary_size} is declared; the built module has {tokens} token embeddings"
            yield Violation(("vocabulary_size",), message)

    def faults_at(self, length: int) -> Iterator[Violation]:
        """Yield why the module, which reads one token, cannot read a sequence of `length`."""
        try:
            self._counts(1)
        except ModuleFault:  # one of `violations`
            return
        try:
            self._counts(length)
        except ModuleFault as fault:
            yield Violation(("factory",), f"with recipe.sequence_length {length}: {fault}")

    @property
    def programs(self) -> tuple[LayerProgram, ...]:
        """No program: the factory says what is computed."""
        return ()

    @property
    def is_counted(self) -> bool:
        """Whether its costs are counted on the built module."""
        return True

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Nothing: what is inside the module is not declared."""
        return ()

    @property
    def module(self) -> str:
        """The module that holds the factory, under the name by which it is imported."""
        return factory_module(self.factory)

    @property
    def attention_shape(self) -> AttentionShape:
        """Sizes for components, which describe no attention here."""
        return AttentionShape(self.width, 1, self.width)

    def parts(self, length: int) -> tuple[Component, ...]:
        """Return the built module as one component. Raises ModuleFault if it cannot be built."""
        found = self._counts(length)
        operations = Operations(multiply_adds=round(found.forward_flops / 2 / length))
        return (Component(Role.MODULE, self.attention_shape, found.parameters, operations, found.saved_activations),)

    def embedding_parts(self, length: int) -> tuple[Component, ...]:  # type: ignore[override]
        """Return nothing: the embeddings are part of the module."""
        return ()

    def block_parts(self, length: int) -> tuple[Component, ...]:
        """Return the built module."""
        return self.parts(length)

    def shrunk(self, ratio: int) -> Architecture:
        """Return this architecture: a module has no smaller form, which `Candidate` refuses where one is needed."""
        return self

    def _counts(self, length: int) -> Counts:
        return counted(self.factory, self._text, length)

    @cached_property
    def _text(self) -> str:
        return canonical_text(canonical(self, self.own_fields))
