"""Shared by every package: schemas, errors, random streams, atomic files, the environment."""
