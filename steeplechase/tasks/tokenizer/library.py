"""The door to the library `tokenizers`, without its threads: no other module imports it."""

import json
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tokenizers

    Pipeline = tokenizers.Tokenizer
else:
    Pipeline = object  # the library takes time to load; a tokenizer does it at the first text


def library() -> ModuleType:
    """Return the library; its own threads are off unless the user asked for them: workers share the machine."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import tokenizers

    return tokenizers


def bert_pipeline(model: Any, lowercase: bool) -> Pipeline:
    """Return a pipeline that normalises as BERT does and splits at white space and punctuation, then the model."""
    from_library = library()
    pipeline: Pipeline = from_library.Tokenizer(model)
    pipeline.normalizer = from_library.normalizers.BertNormalizer(lowercase=lowercase)
    pipeline.pre_tokenizer = from_library.pre_tokenizers.BertPreTokenizer()
    return pipeline


def learned_merges(pipeline: Pipeline) -> list[tuple[str, str]]:
    """Return the merges of a trained byte-pair encoding in their order."""
    return [(left, right) for left, right in json.loads(pipeline.to_str())["model"]["merges"]]


def pieces_in_order(pipeline: Pipeline) -> list[str]:
    """Return the pieces of a trained model in the order of their numbers."""
    identifiers: dict[str, int] = pipeline.get_vocab(with_added_tokens=False)
    return sorted(identifiers, key=identifiers.__getitem__)
