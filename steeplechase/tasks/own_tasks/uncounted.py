"""Metrics that count words of some scripts alone, and the share of a dev set whose answers or targets are of others.

ROUGE (rouge-score, as Google's) keeps the letters a to z and digits alone. BLEU by sacrebleu's tokenisation 13a and
SQuAD's F1 split words at spaces and punctuation, so that a Chinese or Thai clause is one word.
"""

import re
from collections.abc import Mapping, Sequence

from steeplechase.tasks.own_tasks.parsing import ParsedRow
from steeplechase.tasks.own_tasks.table import TableFormat
from steeplechase.tasks.references.words import UNSPACED

COUNTED_BY_ROUGE = re.compile("[a-z0-9]", re.IGNORECASE)
CLAUSE = re.compile(f"[{UNSPACED}]{{2,}}")
LATIN_ALONE = (
    "have no letter from a to z and no digit, which are all that ROUGE counts: they score 0 whatever is written"
)
SPLIT_AT_SPACES = "are in a script without spaces between words, and count as single words"


def uncounted(table: TableFormat, dev: Sequence[ParsedRow]) -> Mapping[str, str]:
    """Return what is wrong with each metric that cannot count the words of some dev answers or targets."""
    texts, what = _references(table, dev)
    without, clauses = (
        sum(COUNTED_BY_ROUGE.search(text) is None for text in texts),
        sum(CLAUSE.search(text) is not None for text in texts),
    )
    found: dict[str, str] = {}
    for metric in table.chosen_metrics:
        if metric.startswith("rouge") and without:
            found[metric] = f"{without} of {len(texts)} dev {what} {LATIN_ALONE}"
        elif metric in ("bleu", "f1") and clauses:
            rest = "; chrf counts characters" if metric == "bleu" else "; exact_match does not count words"
            found[metric] = f"{clauses} of {len(texts)} dev {what} {SPLIT_AT_SPACES}{rest}"
    return found


def _references(table: TableFormat, dev: Sequence[ParsedRow]) -> tuple[list[str], str]:
    """Return the answers or target texts, and what they are called; none of other tasks."""
    if table.columns.target is not None:
        return [str(row.example.second) for row in dev], "targets"
    if table.columns.answer is None:
        return [], ""
    one = [row.example.answer_text for row in dev if row.example.answer is not None]
    return [*one, *(text for row in dev for text, _ in row.answers[:1])], "answers"
