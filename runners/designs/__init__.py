"""Which candidates answer the question: one file per design."""

from typing import Annotated

from pydantic import Field

from runners.designs.list import ListDesign
from runners.designs.one_factor import OneFactor
from runners.designs.search import Search

Design = Annotated[OneFactor | ListDesign | Search, Field(discriminator="kind")]

__all__ = ["Design", "ListDesign", "OneFactor", "Search"]
