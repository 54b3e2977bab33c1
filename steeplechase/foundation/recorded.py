"""Declarations that records hold, which an earlier version may have written with fields that were removed since."""

import json
from collections.abc import Mapping
from functools import reduce
from typing import ClassVar, Self

from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.foundation.stand_ins import OF_RECORD

ANY = "any value"


class Recorded(Schema):
    """A declaration that records hold: those of earlier versions have fields that were removed since."""

    removed: ClassVar[Mapping[str, JsonValue]] = {}
    """By dotted path the value that a record may have at a removed field; `ANY` where it changed no result."""

    @classmethod
    def of_record(cls, document: JsonValue) -> Self:
        """Return the declaration of a record; an option of a plugin that is not loaded is known by its fields.

        Raises ValidationError for fields that are unknown and not removed.
        """
        return cls.model_validate_json(json.dumps(cls.without_removed(document)), context=OF_RECORD)

    @classmethod
    def of_former(cls, document: JsonValue) -> JsonValue:
        """Return a record of a former layout in today's; any other document as it is."""
        return document

    @classmethod
    def without_removed(cls, document: JsonValue) -> JsonValue:
        """Return a copy of a document in today's layout, without the removed fields."""
        kept: JsonValue = json.loads(json.dumps(cls.of_former(document)))
        for path, value in cls.removed.items():
            *parents, name = path.split(".")
            holder = reduce(lambda part, key: part.get(key) if isinstance(part, dict) else None, parents, kept)
            if isinstance(holder, dict) and name in holder and value in (ANY, holder[name]):
                del holder[name]
        return kept
