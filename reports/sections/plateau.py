"""How many seeds of each arm left the plateau of the loss: a table, and the first clause of the finding.

Where arms differ in it, the test is Fisher's on the numbers of seeds, against the baseline, after Holm's correction
over arms; means are then those of the models that learned (`statistics/learning.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.grid import Column, shown, words
from reports.number_format import NOTHING, counted, p_text
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.learning import HELD_OUT_CURVE, Learning, can_differ
from reports.statistics.results import Results
from reports.table import Row, Table
from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.paired import holm
from steeplechase.analysis.proportions import fisher_p
from steeplechase.configuration.arm import BASELINE

TITLE = "Seeds that left the plateau of the loss"


@dataclass(frozen=True)
class Compared:
    """An arm's seeds that left, against the baseline's."""

    arm: str
    learning: Learning
    p: float | None
    p_adjusted: float | None

    @property
    def differs(self) -> bool:
        """Whether the share of seeds that leave differs from the baseline's."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA

    @property
    def row(self) -> Row:
        """The row of the table: interval and p as shares from 0 to 1, exits in tokens."""
        low, high = self.learning.interval
        exits = sorted(at for at in self.learning.exits.values() if at is not None)
        return {
            "arm": self.arm,
            "left": self.learning.left,
            "seeds": self.learning.seeds,
            "low": low,
            "high": high,
            "unseen": None if self.learning.stayed else self.learning.unseen,
            "p_fisher": self.p,
            "p_adjusted": self.p_adjusted,
            "first_exit": exits[0] if exits else None,
            "last_exit": exits[-1] if exits else None,
            "level": self.learning.level,
            "curve": self.learning.curve,
        }


def compared_learning(results: Results) -> tuple[Compared, ...]:
    """Return every arm with a plateau, the baseline first; Fisher's p only where the numbers of seeds differ."""
    learning: Mapping[str, Learning] = results.learning
    baseline = learning.get(BASELINE)
    arms = [arm.name for arm in results.arms if arm.name in learning]
    p_values = [None if arm == BASELINE or baseline is None else _p(learning[arm], baseline) for arm in arms]
    tested = [baseline is not None and can_differ(learning[arm], baseline) for arm in arms]
    corrected = holm([p if can else None for p, can in zip(p_values, tested, strict=True)])
    rows = zip(arms, p_values, corrected, strict=True)
    return tuple(Compared(arm, learning[arm], p, _spent(p, after, results)) for arm, p, after in rows)


def _spent(p: float | None, corrected: float | None, results: Results) -> float | None:
    """Return a corrected p over its share of the level; a test that cannot be significant is in no family."""
    return p if corrected is None else min(1.0, corrected / results.share_of_a_family)


def _p(arm: Learning, baseline: Learning) -> float:
    return fisher_p(arm.left, arm.seeds, baseline.left, baseline.seeds)


def _percent(low: float, high: float) -> str:
    return f"[{100 * low:.0f}%, {100 * high:.0f}%]"


def _exits(one: Compared) -> str:
    first, last = one.row["first_exit"], one.row["last_exit"]
    if first is None or last is None:
        return NOTHING
    return " to ".join(f"{float(str(at)) / 1e6:.2f}M" for at in (first, last))


COLUMNS = (
    words("arm", lambda one: one.arm),
    Column("left the plateau", read=lambda one: str(one.learning)),
    Column("share [95%]", read=lambda one: _percent(*one.learning.interval)),
    Column("after tokens", read=_exits),
    Column("adjusted", "p, Fisher", read=lambda one: p_text(one.p_adjusted) if one.p is not None else NOTHING),
)


def _notes(results: Results, compared: tuple[Compared, ...]) -> Iterator[str]:
    yield (
        "A seed leaves when its training loss falls below the level that all seeds of its objective share (a change "
        "point, by BIC). Share: the exact interval of Clopper and Pearson. p: Fisher's exact test against the "
        "baseline, Holm-corrected over the arms of which it could be significant with as many seeds that left."
    )
    if any(one.learning.curve == HELD_OUT_CURVE for one in compared):
        yield (
            "Beside a generator it is the held-out loss where a seed stays on that: the training loss has the "
            "generator's in it, and falls although the discriminator has not begun to learn."
        )
    if results.share_of_a_family < 1:
        yield (
            "It is tested here how many seeds learn, and the means of those that do: each of the two has half of the "
            "5%, so that every p is doubled. Where Fisher's test could not be significant, means have all of it."
        )
    fewest = min((one.learning for one in compared), key=lambda learning: learning.seeds)
    yield (
        f"Where all of {fewest.seeds} seeds left, up to {100 * fewest.unseen:.0f}% of further ones may still stay "
        "(95%)."
    )
    if results.partly_learning:
        yield (
            f"Means, differences and verdicts are among models that learned: {_named(results.partly_learning)}. A "
            "verdict on them says nothing of how often an arm learns."
        )


def _named(learning: Mapping[str, Learning]) -> str:
    return ", ".join(f"{arm} {each}" for arm, each in learning.items())


def _clauses(evidence: Evidence) -> Iterator[str]:
    """Yield what must be said before any difference of means; nothing where every seed learned."""
    results = evidence.results
    partly = results.partly_learning
    if not partly:
        return
    told = [one.arm for one in compared_learning(results) if one.differs]
    verdict = f"by Fisher's test {', '.join(told)} differ{'s' * (len(told) == 1)} from the baseline in this; "
    others = len([arm for arm in results.learning if arm not in partly])
    all_others = f", {counted(others, 'other arm')} in every seed" if others else ""
    yield (
        f"the seeds that left the plateau of the loss are {_named(partly)}{all_others}; {verdict if told else ''}"
        "means are compared among models that learned"
    )


def _content(evidence: Evidence) -> Content:
    compared = compared_learning(evidence.results)
    if not compared:
        return Content()
    notes = [*_notes(evidence.results, compared)]
    table = Table.of("plateau", (one.row for one in compared))
    return Content((table,), shown("plateau", TITLE, COLUMNS, compared, notes))


SECTION = Section("plateau", _content, clauses=_clauses)
