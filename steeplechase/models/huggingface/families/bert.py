"""BERT, which is read as the ELECTRA that computes the same. transformers 5.23, models/bert."""

from collections.abc import Mapping
from typing import ClassVar

from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.electra import Electra
from steeplechase.models.huggingface.families.family import BASE


class Bert(Electra):
    """BERT's encoder; its embeddings are as wide as its blocks."""

    model_type = "bert"
    title = "BERT"
    bare_class = "BertModel"
    classes: ClassVar = {}
    defaults: ClassVar = BASE

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys, and the width of the embeddings."""
        configured = super().completed(document)
        return {**configured, "embedding_size": configured["hidden_size"]}
