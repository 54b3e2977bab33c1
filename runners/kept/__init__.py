"""What is kept: stages, the ledger and its exports, whole or not at all."""
