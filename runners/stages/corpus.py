"""Read a corpus, remove duplicates and split it by source."""

from runners.stages.declarations import CorpusStage
from runners.stages.workplace import Workplace
from search_space.declaration import JsonValue
from tasks.corpora.assembly import assemble


def compute(stage: CorpusStage, workplace: Workplace) -> dict[str, JsonValue]:
    """Write the splits and return their summary."""
    summary = assemble(stage.corpus, workplace.folder, workplace.progress)
    document: dict[str, JsonValue] = {"corpus": stage.corpus.kind, **summary.model_dump(mode="json")}
    return document
