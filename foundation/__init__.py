"""What every package uses: schemas, errors, random streams, atomic files, the environment."""
