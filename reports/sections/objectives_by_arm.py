"""Arms of an ablation that are trained by another objective than the baseline's, and pairs of segments."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from reports.section import Section
from reports.statistics.results import Results
from search_space.candidate import Candidate
from search_space.overrides import difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import TokensResult

TRAINED_OTHERWISE = "Objectives by arm"
PAIRS = "Pairs of segments"
PATH = "objective."


def segment_pair_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield how many training documents have no two segments, if an objective reads pairs."""
    for _, result in with_results(shared, TokensResult):
        single = result.train.single_sentence_documents
        if single is not None:
            text = f"{single:,} of {result.train.documents:,} training documents have one sentence"
            yield PAIRS, f"{text}; no pair of two segments of one document is made of them"


def objective_notes(arms: Mapping[str, Candidate], other_loss: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the arms that are trained by another objective than the baseline's, and measured on the baseline's.

    `arms` has the candidates by arm; without a baseline among them nothing is yielded.
    """
    baseline = arms.get(BASELINE)
    measured = [] if baseline is None else [arm for arm in arms if arm not in other_loss]
    changes = {arm: _of_objective(difference(arms[BASELINE], arms[arm])) for arm in measured}
    named = [f"{arm} ({', '.join(each)})" for arm, each in changes.items() if each]
    if named:
        shared = "the held-out set is made by the baseline's objective"
        text = "trained on another, so that a difference in held-out loss is one of what is asked too"
        yield TRAINED_OTHERWISE, f"{shared}; {text}: {', '.join(named)}"


def _of_objective(changes: Mapping[str, JsonValue]) -> list[str]:
    """Return what changes in the objective, as text; the kind alone where that is another one."""
    if "objective" in changes:
        return [_kind(changes["objective"]).replace("_", " ")]
    paths = [path for path in changes if path.startswith(PATH)]
    return [f"{path.removeprefix(PATH).replace('_', ' ')} {_kind(changes[path])}" for path in paths]


def _kind(value: JsonValue) -> str:
    """Return an option by its kind alone, any other value as it is."""
    return str(value.get("kind", value) if isinstance(value, Mapping) else value)


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    if not results.is_search:
        candidates = {arm.name: arm.candidate for arm in results.arms}
        yield from objective_notes(candidates, results.snapshot.arms_with_other_loss)
    yield from segment_pair_notes(results.snapshot.shared)


SECTION = Section("objectives_by_arm", conditions=_conditions)
