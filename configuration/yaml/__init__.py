"""The configuration loader: a YAML file in, a validated declaration out, or every mistake told with its line."""

from configuration.yaml.loader import load, resolved_document, scales

__all__ = ["load", "resolved_document", "scales"]
