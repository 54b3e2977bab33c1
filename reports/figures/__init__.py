"""Drawings of figures in one style, and what a figure of a report is."""
