"""Reads a corpus, removes duplicate documents and splits it by source."""

from typing import ClassVar

from runners.stages.context import StageContext
from runners.stages.stage import Stage, StageDeclaration
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.schema import JsonValue, Whole
from steeplechase.tasks.corpora.assembly import assemble
from steeplechase.tasks.corpora.option import Corpus


class CorpusStage(StageDeclaration):
    """Read the documents, remove duplicates, split them."""

    stage: ClassVar[str] = "corpus"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"corpus": "read"}
    corpus: Corpus
    read: JsonValue
    """Content hashes of the files of the corpus."""
    split_seed: Whole = 0

    @classmethod
    def of(cls, corpus: Corpus) -> Stage:
        """Return the stage of a corpus. Raises DataError where it is missing."""
        return Stage(cls(corpus=corpus, read=corpus.inputs(), split_seed=corpus.split_seed))

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Write the splits and return their summary. Raises ConflictError if the text is not that of the key."""
        summary = assemble(self.corpus, context.folder, context.progress)
        if canonical_text(self.corpus.inputs()) != canonical_text(self.read):
            raise ConflictError(f"the text of the {self.corpus.kind} corpus changed after the run began; run again")
        return {"corpus": self.corpus.kind, **summary.model_dump(mode="json")}
