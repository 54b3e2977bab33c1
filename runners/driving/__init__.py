"""What happens, in order: groundwork, the course of trials, judges, and the driver that holds the ledger."""
