"""The configuration loader: a YAML file in, a validated declaration out, or every mistake told with its line."""

from configuration.yaml.loader import ConfigurationFile, load, read_file, scales

__all__ = ["ConfigurationFile", "load", "read_file", "scales"]
