"""A corpus from the Hugging Face hub, streamed at a fixed revision; needs the optional extra `datasets`."""

from collections.abc import Generator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue, OfForm, PositiveNumber
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.hub_client import Commit, refuse_without_library, streamed
from steeplechase.tasks.progress import Progress

CHARACTERS_PER_MEGABYTE = 1_000_000
ROWS_PER_REPORT = 1000
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$"
"""`owner/name`, or a name alone."""


class HuggingFaceCorpus(CorpusOption):
    """One column of one split of a dataset on the hub; code from the hub is never executed."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ()

    kind: Literal["huggingface"] = "huggingface"
    """Chooses a data set on the Hugging Face hub."""
    name: Annotated[str, OfForm(NAME, "wikimedia/wikipedia")] = Field(examples=["wikimedia/wikipedia"])
    """The data set's name on the hub, with its owner."""
    revision: Commit = Field(examples=["b04c8d1ceb2f5cd4588862100d08de323dccfbaa"])
    """The commit that is read, as 40 hexadecimal digits: a branch may move and change results in silence."""
    subset: str | None = None
    """The data set's configuration; its only one where none is named."""
    split: str = "train"
    """The split that is read; train, validation and test are drawn from it."""
    column: str = "text"
    """The column that holds the text."""
    maximum_megabytes: PositiveNumber | None = None
    """Stop reading after this many million characters; the whole split where there is no number."""

    def inputs(self) -> JsonValue:
        """Return the dataset's name, revision, subset, split, column and limit."""
        return {key: getattr(self, key) for key in sorted(type(self).model_fields)}

    def check_exists(self) -> None:
        """Raise MachineError without the extra; the hub is not asked."""
        refuse_without_library(f"the corpus {self.name} of the Hugging Face hub")

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield each row's text in the order of the split; return 0, since no file is skipped.

        Raises MachineError without the extra or the network, DataError for a wrong split or column.
        """
        limit = None if self.maximum_megabytes is None else self.maximum_megabytes * CHARACTERS_PER_MEGABYTE
        rows = streamed(self.name, self.subset, self.revision, self.split, "a huggingface corpus")
        characters = 0
        for row_number, row in enumerate(rows):
            if limit is not None and characters >= limit:
                break
            if row_number % ROWS_PER_REPORT == 0:
                progress(f"streaming {self.name}: row {row_number:,}", 0.0 if limit is None else characters / limit)
            text = row.get(self.column)
            if not isinstance(text, str):
                raise DataError(
                    f"{self.name} row {row_number}: column {self.column!r} holds {type(text).__name__}, not text; "
                    f"columns found: {', '.join(sorted(row))}"
                )
            characters += len(text)
            yield Document(f"{self.name}#{row_number}", text)
        progress(f"streaming {self.name}", 1.0)
        return 0
