"""The kinds of architectures: the encoder, which is never named in a key, and subclasses with fields of their own."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from pydantic import (
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from search_space.program_parser import admit_sublayers
from steeplechase.foundation.schema import VARIANT_KEY, Schema
from steeplechase.foundation.stand_ins import OF_RECORD

ENCODER = "encoder"


class ArchitectureByKind(Schema):
    """Base class of the encoder's declaration, whose subclasses are the other kinds.

    A field of the encoder's type holds any kind. The encoder has no field `kind`, so that its keys have none.
    """

    own_fields: ClassVar[tuple[str, ...]] = ()
    """Of another kind: the fields that it has; the encoder's others are not its own."""

    @property
    def is_counted(self) -> bool:
        """Whether its costs are counted on the built module, in place of the closed form."""
        return False

    @classmethod
    def other_kinds(cls) -> dict[str, type[Self]]:
        """Return the subclasses of the encoder by kind, whatever was imported first; nothing for a subclass."""
        others = cls.__subclasses__() if ArchitectureByKind in cls.__bases__ else []
        kinds = {str(each.model_fields[VARIANT_KEY].default): each for each in others if each.own_fields}
        return dict(sorted(kinds.items()))

    @classmethod
    def own_document(cls, document: Mapping[str, Any], advice: str) -> dict[str, Any]:
        """Return the document of another kind; the width is that of the embeddings where these have none.

        Raises ValueError with the advice for fields that the kind does not have.
        """
        foreign = [name for name in document if name in cls.model_fields and name not in cls.own_fields]
        if foreign:
            kind = cls.model_fields[VARIANT_KEY].default
            raise ValueError(f"{', '.join(foreign)}: not of kind {kind}; {advice}")
        width = document.get("width", cls.model_fields["width"].default)
        return {"embedding_width": width, **document}

    @model_validator(mode="wrap")
    @classmethod
    def _by_kind(cls, document: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Choose by `kind`: `encoder`, the default and never written, or that of a subclass."""
        if info.context is OF_RECORD and isinstance(document, Mapping):
            for text in (document.get("layers"), document.get("decoder_layers")):
                admit_sublayers(text if isinstance(text, str) else "")
        kinds = cls.other_kinds()
        if not kinds or not isinstance(document, Mapping) or VARIANT_KEY not in document:
            return handler(document)
        kind = document[VARIANT_KEY]
        if isinstance(kind, str) and kind in kinds:
            return kinds[kind].model_validate(document, context=info.context)
        if kind == ENCODER:
            return handler({name: value for name, value in document.items() if name != VARIANT_KEY})
        raise ValueError(f"{kind!r} is not a kind of architecture; allowed: {', '.join((ENCODER, *kinds))}")

    @model_serializer(mode="wrap")
    def _own_fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialise another kind by its own fields."""
        own = self.own_fields
        return {name: getattr(self, name) for name in own} if own else cast("dict[str, Any]", handler(self))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema for editors: the encoder's fields, those of every other kind, and `kind`."""
        own, kinds = handler(schema), cls.other_kinds()
        if kinds:
            properties = handler.resolve_ref_schema(own)["properties"]
            for each in kinds.values():
                added = handler.resolve_ref_schema(handler(each.__pydantic_core_schema__))["properties"]
                properties |= {name: added[name] for name in each.own_fields if name not in properties}
            described = (
                "Chooses the encoder, the default; an encoder with a decoder: `decoder_depth` or `decoder_layers`; "
                "or a module of your own: `factory` and `arguments`."
            )
            properties[VARIANT_KEY] = {"enum": [ENCODER, *kinds], "type": "string", "description": described}
        return own
