"""How many seeds of each arm left the plateau of the loss: a table, and the first clause of the finding.

Where arms differ in it, the test is Fisher's on the numbers of seeds, against the baseline, after Holm's correction
over arms; means are then those of the models that learned (`statistics/learning.py`).
"""

from collections.abc import Iterator, Mapping

from reports.number_format import NOTHING, counted, short_range
from reports.section import Content, Section, known, p_value
from reports.statistics.learning import HELD_OUT_CURVE, Learning, can_differ
from reports.statistics.results import Results
from reports.table import Column, Row, Table, number, shown, words
from steeplechase.analysis.difference import ALPHA
from steeplechase.analysis.paired import holm
from steeplechase.analysis.proportions import fisher_p
from steeplechase.configuration.arm import BASELINE

TITLE = "Seeds that left the plateau of the loss"
NONE_LEARNS = (
    "no seed of any arm left the plateau of the loss, near that of a model without context, so that no means are "
    "compared: train on more tokens, or with positions or a convolution with which models leave it earlier "
    "(docs/what_small_models_cannot_tell.md, The plateau)"
)


def _learning(results: Results) -> dict[str, Learning]:
    return {arm.name: results.learning[arm.name] for arm in results.arms if arm.name in results.learning}


def _rows(results: Results) -> tuple[Row, ...]:
    """Return every arm with a plateau, the baseline first; Fisher's p only where the numbers of seeds differ."""
    learning = _learning(results)
    baseline = learning.get(BASELINE)
    p_values = [
        None
        if arm == BASELINE or baseline is None
        else fisher_p(each.left, each.seeds, baseline.left, baseline.seeds)
        for arm, each in learning.items()
    ]
    tested = [baseline is not None and can_differ(each, baseline) for each in learning.values()]
    corrected = holm([p if can else None for p, can in zip(p_values, tested, strict=True)])
    # a test that cannot be significant is in no family
    adjusted = [
        p if after is None else min(1.0, after / results.share_of_a_family)
        for p, after in zip(p_values, corrected, strict=True)
    ]
    return tuple(map(_row, learning, learning.values(), p_values, adjusted))


def _row(arm: str, learning: Learning, p: float | None, p_adjusted: float | None) -> Row:
    """Return the row of an arm: interval and p as shares from 0 to 1, exits in tokens."""
    low, high = learning.interval
    exits = sorted(at for at in learning.exits.values() if at is not None)
    return {
        "arm": arm,
        "left": learning.left,
        "seeds": learning.seeds,
        "low": low,
        "high": high,
        "unseen": None if learning.stayed else learning.unseen,
        "p_fisher": p,
        "p_adjusted": p_adjusted,
        "first_exit": exits[0] if exits else None,
        "last_exit": exits[-1] if exits else None,
        "level": learning.level,
        "curve": learning.curve,
    }


def _share(row: Row) -> str:
    low, high = (known(row[name], lambda share: f"{100 * share:.0f}%") for name in ("low", "high"))
    return f"[{low}, {high}]"


def _exits(row: Row) -> str:
    first, last = number(row["first_exit"]), number(row["last_exit"])
    return NOTHING if first is None or last is None else short_range(first, last)


COLUMNS = (
    words("arm"),
    Column("left the plateau", read=lambda row: f"{row['left']} of {row['seeds']}"),
    Column("share [95%]", read=_share),
    Column("after tokens", read=_exits),
    Column("adjusted", "p, Fisher", read=lambda row: known(row["p_fisher"], lambda _: p_value("p_adjusted")(row))),
)


def _notes(results: Results) -> Iterator[str]:
    yield (
        "A seed leaves when its training loss falls below the level that all seeds of its objective share (a change "
        "point, by BIC). Share: the exact interval of Clopper and Pearson. p: Fisher's exact test against the "
        "baseline, Holm-corrected over the arms of which it could be significant with as many seeds that left."
    )
    learning = _learning(results).values()
    if any(each.curve == HELD_OUT_CURVE for each in learning):
        yield (
            "Beside a generator it is the held-out loss where a seed stays on that: the training loss has the "
            "generator's in it, and falls although the discriminator has not begun to learn."
        )
    if results.share_of_a_family < 1:
        yield (
            "It is tested here how many seeds learn, and the means of those that do: each of the two has half of the "
            "5%, so that every p of an arm against the baseline is doubled, and that of a claim on the loss of arms "
            "that Fisher's test could tell apart. Where it could not be significant, means have all of it."
        )
    fewest = min(learning, key=lambda each: each.seeds)
    yield (
        f"Where every seed of an arm left, at n = {fewest.seeds}, up to {100 * fewest.unseen:.0f}% of further ones "
        "may still stay (95%)."
    )
    if results.partly_learning:
        yield (
            f"Means, differences and verdicts are among models that learned: {_named(results.partly_learning)}. A "
            "verdict on them says nothing of how often an arm learns. Tables without differences are over every seed."
        )


def _named(learning: Mapping[str, Learning]) -> str:
    return ", ".join(f"{arm} {each}" for arm, each in learning.items())


def _clauses(results: Results) -> Iterator[str]:
    """Yield what must be said before any difference of means; nothing where every seed learned."""
    partly = results.partly_learning
    if not partly:
        return
    if results.none_learns:
        yield NONE_LEARNS
        return
    p_values = {str(row["arm"]): number(row["p_adjusted"]) for row in results.once(_rows)}
    told = [arm for arm, p in p_values.items() if p is not None and p <= ALPHA]
    verdict = f"by Fisher's test {', '.join(told)} differ{'s' * (len(told) == 1)} from the baseline in this; "
    others = len([arm for arm in results.learning if arm not in partly])
    left = [f"{each} seeds of {arm}" for arm, each in partly.items()]
    left += [f"every seed of {counted(others, 'other arm')}"] * bool(others)
    yield (
        f"the plateau of the loss was left by {', '.join(left)}; {verdict if told else ''}"
        "means are compared among models that learned"
    )


def _content(results: Results) -> Content:
    rows = results.once(_rows)
    if not rows:
        return Content()
    return Content((Table.of("plateau", rows),), shown("plateau", TITLE, COLUMNS, rows, [*_notes(results)]))


SECTION = Section("plateau", _content, clauses=_clauses)
