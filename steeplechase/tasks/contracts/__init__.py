"""Contracts: what every option, corpus, task and metric promises, in this repository and in plugins."""
