"""Reads a corpus, removes duplicate documents and splits it by source."""

from runners.stages.context import StageContext
from runners.stages.declarations import CorpusStage
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.schema import JsonValue, canonical_text
from steeplechase.tasks.corpora.assembly import assemble


def compute(stage: CorpusStage, context: StageContext) -> dict[str, JsonValue]:
    """Write the splits and return their summary. Raises ConflictError if the text is not that of the stage's key."""
    summary = assemble(stage.corpus, context.folder, context.progress)
    if canonical_text(stage.corpus.inputs()) != canonical_text(stage.read):
        raise ConflictError(f"the text of the {stage.corpus.kind} corpus changed after the run began; run again")
    document: dict[str, JsonValue] = {"corpus": stage.corpus.kind, **summary.model_dump(mode="json")}
    return document
