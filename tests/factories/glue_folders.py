"""The tasks that come as files, and a small file of each that is like the published one."""

from pathlib import Path

from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.task import DownstreamTask

GLUE = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb", "wnli")
assert set(GLUE) <= set(task_names())

HEADERS = {
    "mnli": "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
    "mrpc": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
    "qnli": "index\tquestion\tsentence\tlabel",
    "qqp": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
    "rte": "index\tsentence1\tsentence2\tlabel",
    "sst2": "sentence\tlabel",
    "stsb": "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
    "wnli": "index\tsentence1\tsentence2\tlabel",
}
ANSWERS = {
    "cola": ("0", "1"),
    "mnli": ("neutral", "entailment", "contradiction"),
    "qnli": ("entailment", "not_entailment"),
    "rte": ("not_entailment", "entailment"),
    "stsb": ("0.000", "2.500", "5.000"),
}
TEXTS = ("NA", 'He said "no', "None", "null", "it's 'so'", "nan", "ünïcode \u2028 text", "1.0")
"""What readers of other tables take for something else."""


def row_of(task: DownstreamTask, number: int) -> str:
    """Return a row like the published ones, with texts that must stay texts."""
    name = task.name
    answers = ANSWERS.get(name, ("0", "1"))
    answer, first = answers[number % len(answers)], TEXTS[number % len(TEXTS)]
    second = TEXTS[(number + 3) % len(TEXTS)]
    if name == "cola":
        return f"gj04\t{answer}\t*\t{first}"
    if name == "mrpc":
        return f"{answer}\t1\t2\t{first}\t{second}"
    cells = dict.fromkeys(HEADERS[name].split("\t"), "n/a")
    texts = [column for column in ("sentence", "question", "question1", "sentence1") if column in cells]
    cells[texts[-1] if name == "sst2" else "question" if name == "qnli" else texts[-1]] = first
    if task.form == "pair":
        cells[{"qnli": "sentence", "qqp": "question2"}.get(name, "sentence2")] = second
    cells[list(cells)[-1]] = answer
    cells.update({key: str(number) for key in ("index", "id") if key in cells})
    return "\t".join(cells.values())


def write_table(name: str, path: Path, rows: int, end: str = "\n") -> None:
    """Write a file of so many rows as the task is published."""
    lines = [HEADERS[name]] if name in HEADERS else []
    lines += [row_of(find_task(name), number) for number in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((end.join(lines) + end).encode())
