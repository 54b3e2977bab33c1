"""How positions enter the embeddings or the scores: one file per option, named as in `search_space.position`.

`build(option, positions, width)` is a module from a length to encodings [seq width], or a number that adds nothing.
`build_scores(declaration)`, of positions in attention, is a module from queries [batch heads queries head_dim] and a
number of keys to queries and terms [batch heads queries keys].
"""
