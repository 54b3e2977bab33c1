"""How stages are computed: numerical code, which the declarations in `runners/stages/` do without."""
