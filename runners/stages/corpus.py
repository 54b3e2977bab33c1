"""Read a corpus, remove duplicates and split it by source."""

from runners.stages.declarations import CorpusStage
from runners.stages.workplace import Workplace
from search_space.declaration import JsonValue, canonical_text
from search_space.refusals import Conflict
from tasks.corpora.assembly import assemble


def compute(stage: CorpusStage, workplace: Workplace) -> dict[str, JsonValue]:
    """Write the splits and return their summary. Raises Conflict where the text is not what the key says."""
    summary = assemble(stage.corpus, workplace.folder, workplace.progress)
    if canonical_text(stage.corpus.inputs()) != canonical_text(stage.read):
        raise Conflict(f"the {stage.corpus.kind} corpus is not the one that the run began with; run again")
    document: dict[str, JsonValue] = {"corpus": stage.corpus.kind, **summary.model_dump(mode="json")}
    return document
