"""Sublayers of a stack: one file per kind. A declaration has the sizes of one sublayer and its costs in closed form.

`search_space/stack.py` makes them from a layer program; `models/sublayer/` has the torch modules under equal names.
"""
