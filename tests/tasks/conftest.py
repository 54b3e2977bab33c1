"""A small documentation corpus, assembled once for all tests of this folder; contracts that train without checks."""

from pathlib import Path

import pytest

from search_space.candidate import Candidate
from steeplechase.tasks.corpora.assembly import assemble, read_documents
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import Tokenizer, WordPieceTraining, train_tokenizer
from tests.factories.shared_runs import shared_folder
from tests.factories.updates import unchecked_shapes


@pytest.fixture(scope="session")
def corpus() -> DocumentationCorpus:
    return DocumentationCorpus(
        distributions=("mlflow", "optuna", "ray", "scikit-learn", "torch"), maximum_megabytes=2.5
    )


@pytest.fixture(scope="session")
def assembled(corpus: DocumentationCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        folder.mkdir()
        assemble(corpus, folder, silent)

    return shared_folder(tmp_path_factory, "assembled", make)[0]


@pytest.fixture(scope="session")
def test_documents(assembled: Path) -> list[Document]:
    return list(read_documents(assembled, "test"))


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    documents = DocumentationCorpus(distributions=("optuna",), maximum_megabytes=0.4).documents(silent)
    return train_tokenizer(WordPieceTraining(), [document.text for document in documents], 1000)


@pytest.fixture
def training_without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check no shapes in the forty updates of a contract: the others call the same functions."""
    from steeplechase.tasks.contracts import candidates

    def unchecked(candidate: Candidate) -> None:
        with unchecked_shapes():
            candidates.training_lowers_the_loss(candidate)

    monkeypatch.setitem(candidates.CONTRACTS, "training lowers the loss", unchecked)  # type: ignore[arg-type]
