"""Read a corpus, remove duplicates and split it by source."""

from foundation.errors import Conflict
from foundation.schema import JsonValue, canonical_text
from runners.stages.context import Workplace
from runners.stages.declarations import CorpusStage
from tasks.corpora.assembly import assemble


def compute(stage: CorpusStage, workplace: Workplace) -> dict[str, JsonValue]:
    """Write the splits and return their summary. Raises Conflict where the text is not what the key says."""
    summary = assemble(stage.corpus, workplace.folder, workplace.progress)
    if canonical_text(stage.corpus.inputs()) != canonical_text(stage.read):
        raise Conflict(f"the {stage.corpus.kind} corpus is not the one that the run began with; run again")
    document: dict[str, JsonValue] = {"corpus": stage.corpus.kind, **summary.model_dump(mode="json")}
    return document
