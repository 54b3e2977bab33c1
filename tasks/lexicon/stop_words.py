"""English function words of more than three letters, which have no supersense. Levine et al. 2019, 1908.05646."""

STOP_WORDS = frozenset(
    """
    about above according across after afterwards again against albeit almost along already also although always
    amid among amongst another anybody anyhow anyone anything anyway anywhere around aside away became because been
    before beforehand behind being below beneath beside besides between beyond both cannot could dare despite does
    doing done down during each either else elsewhere enough even ever every everybody everyone everything
    everywhere except following from further furthermore given hardly have having hence here hereafter hereby herein
    hers herself himself hither however inside instead into itself just least less lest like likewise many might mine
    more moreover most much must myself namely near nearly neither never nevertheless next nobody none nonetheless
    nothing notwithstanding nowhere often once only onto other others otherwise ought ours ourselves outside over
    past perhaps quite rather regarding same seldom several shall should since some somebody somehow someone
    something sometime sometimes somewhat somewhere soon still such than that their theirs them themselves then
    thence there thereafter thereby therefore therein these they this those though through throughout thus till
    together toward towards under underneath unless unlike until unto upon very was were what whatever when whence
    whenever where whereas whereby wherein whereupon wherever whether which whichever while whilst whither whoever
    whole whom whomever whose will with within without would your yours yourself yourselves
    """.split()
)
