"""`steeplechase reference`: every option, objective, design, hurdle and task with defaults, sources and examples."""

from steeplechase.commands.documents import print_document
from steeplechase.commands.reference_page.markdown import page


def reference() -> None:
    """Print the reference of experiment files as Markdown; docs/reference.md is this."""
    print_document(page())
