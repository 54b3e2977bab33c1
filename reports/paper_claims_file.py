"""`claims.toml`, beside the published reports: the claims of papers with their sources, and what tests each."""

import json
import tomllib
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from steeplechase.configuration.claims import parse_claim
from steeplechase.foundation.errors import ConfigurationError, MachineError
from steeplechase.foundation.schema import Schema

FILE = "claims.toml"


class DeclaredTest(Schema):
    """The claims of an experiment that test a claim of the paper."""

    experiment: str
    """Name of the experiment: its file, and the published folder's name up to the scale."""
    scales: tuple[str, ...] = Field(min_length=1)
    claims: tuple[str, ...] = Field(min_length=1)
    """Claims in their short form; without trials the orderings of what is timed."""
    not_run: str = ""
    """Why no report is published."""
    departure: str = ""
    """What the test has in place of the paper's setting, such as another objective."""
    caveat: str = ""
    """What is to be known of the published report that its rows do not say."""

    @field_validator("claims")
    @classmethod
    def _are_claims(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if "(" in text:
                parse_claim(text)
        return texts


class SearchTest(Schema):
    """Claims on searches of one space at equal cost, whose comparison is in the repository."""

    folder: str
    """The comparison as `steeplechase search compare --out` writes it, from the root of the repository."""
    scale: str
    scope: str
    """The recorded models that the searches choose from."""
    claims: tuple[str, ...] = Field(min_length=1)
    """In their short form, such as `chosen_final(a) < chosen_final(b)`, on a column of the table by seed."""

    @field_validator("claims")
    @classmethod
    def _are_claims(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            parse_claim(text)
        return texts


class PaperClaim(Schema):
    """A claim of a paper in our words, with its source."""

    id: str
    statement: str
    source: str
    """The paper, with the table or section."""
    tested_by: tuple[DeclaredTest, ...] = ()
    searched_by: tuple[SearchTest, ...] = ()
    """One family: its claims are corrected for each other."""
    untested: str = ""
    """Why no experiment tests it, or which part of it none does: the verdict of a row of its own."""


class PaperClaims(Schema):
    """The content of `claims.toml`."""

    claims: tuple[PaperClaim, ...]


def read_paper_claims(folder: Path) -> tuple[PaperClaim, ...]:
    """Return the claims declared in a folder. Raises MachineError, ConfigurationError."""
    file = folder / FILE
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        return PaperClaims.model_validate_json(json.dumps(document)).claims
    except OSError:
        raise MachineError(f"{file}: no such file; it declares the claims and what tests them") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigurationError(f"{file}: {fault}") from None
    except ValidationError as fault:
        places = [f"{file}: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors()]
        raise ConfigurationError(places) from None
