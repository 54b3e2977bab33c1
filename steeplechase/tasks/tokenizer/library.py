"""The door to the library `tokenizers`, without its threads: no other module imports it."""

import json
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

from steeplechase.tasks.tokenizer_file import Settings

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


def bert_settings(lowercase: bool) -> Settings:
    """Return the settings of a tokenizer.json that splits texts as `bert_pipeline` does."""
    return {
        ("normalizer", "type"): ("BertNormalizer",),
        ("normalizer", "lowercase"): (lowercase,),
        ("normalizer", "strip_accents"): (None, lowercase),
        ("normalizer", "clean_text"): (True,),
        ("normalizer", "handle_chinese_chars"): (True,),
        ("pre_tokenizer", "type"): ("BertPreTokenizer",),
    }


PLAIN_MERGES: Settings = {
    ("model", "dropout"): (None, 0.0),
    ("model", "continuing_subword_prefix"): ("", None),
    ("model", "fuse_unk"): (False, None),
    ("model", "byte_fallback"): (False, None),
    ("model", "ignore_merges"): (False, None),
}
"""The settings of a tokenizer.json whose words are merged from their first pieces, by the merges alone."""


def learned_merges(pipeline: Pipeline) -> list[tuple[str, str]]:
    """Return the merges of a trained byte-pair encoding in their order."""
    return [(left, right) for left, right in json.loads(pipeline.to_str())["model"]["merges"]]


def pieces_in_order(pipeline: Pipeline) -> list[str]:
    """Return the pieces of a trained model in the order of their numbers."""
    identifiers: dict[str, int] = pipeline.get_vocab(with_added_tokens=False)
    return sorted(identifiers, key=identifiers.__getitem__)
