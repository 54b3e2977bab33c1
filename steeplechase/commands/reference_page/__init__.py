"""The reference page, generated from the declarations: sections, how values are written, Markdown."""
