"""Runners: from an experiment to stages, executors and searches; what is done is written to the ledger."""
