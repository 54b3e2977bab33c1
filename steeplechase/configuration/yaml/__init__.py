"""The configuration loader: from a YAML file to a validated declaration, or to all its mistakes with their lines."""

from steeplechase.configuration.yaml.loader import ConfigurationFile, load, read_file, scales

__all__ = ["ConfigurationFile", "load", "read_file", "scales"]
