"""The convolution of one self-attention sublayer: a layer program's settings over the convolution of the stack."""

from collections.abc import Mapping

from pydantic import ValidationError

from search_space.convolution import Convolution
from search_space.convolution.kernel import WithKernel
from search_space.convolution.option import ConvolutionOption
from search_space.layer_program import Setting
from search_space.sublayer.sublayer import InvalidSetting, StackSizes, refuse_unknown
from search_space.visibility import VISIBLE_SIDE, WINDOWS, Visibility
from steeplechase.foundation.schema import VARIANT_KEY, options_changed, options_of
from steeplechase.foundation.stand_ins import admit, is_stand_in_class, refuse

KIND = "convolution"
"""The setting that names an option; the others are the option's fields."""


def own_convolution(
    letter: str, settings: Mapping[str, Setting], sizes: StackSizes, others: tuple[str, ...]
) -> Convolution:
    """Return the convolution with a sublayer's settings; another kind has its own defaults. Raises InvalidSetting.

    `others` are the settings of the sublayer that are not of its convolution.
    """
    of_stack = sizes.convolution
    kind = str(settings.get(KIND, of_stack.kind))
    own = {name: value for name, value in settings.items() if name not in others}
    known = {option.model_fields[VARIANT_KEY].default: option for option in options_of(ConvolutionOption)}
    if KIND in own and kind not in known:
        raise InvalidSetting(f"{KIND}={kind} is unknown; allowed: {', '.join(known)}")
    if is_stand_in_class(known.get(kind, type(of_stack))):
        refuse(kind)
    fields = [name for name in known.get(kind, type(of_stack)).model_fields if name != VARIANT_KEY]
    refuse_unknown(f"{letter} with the convolution {kind}", settings, (*others, KIND, *fields))
    if not own or own == {KIND: of_stack.kind}:
        return of_stack
    base = of_stack.model_dump() if kind == of_stack.kind else {VARIANT_KEY: kind}
    try:
        made: Convolution = known[kind].model_validate(base | {name: own[name] for name in own if name != KIND})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        message = fault["msg"].removeprefix("Value error, ")
        raise InvalidSetting(f"{'.'.join(map(str, fault['loc']))}: {message}") from None
    mistake = window_mistake(made, sizes.visibility)
    if mistake is not None:
        raise InvalidSetting(mistake)
    return made


def admit_convolution(settings: Mapping[str, Setting]) -> None:
    """Let a record's sublayer name the convolution of a plugin that is not loaded: a stand-in without code."""
    if KIND in settings and admit(ConvolutionOption, options_of(ConvolutionOption), {VARIANT_KEY: settings[KIND]}):
        options_changed()


def window_mistake(convolution: ConvolutionOption, visibility: Visibility) -> str | None:
    """Return why the convolution's window reads tokens that attention hides; None if it reads none."""
    hides = f"reads tokens that {visibility} attention hides"
    if isinstance(convolution, WithKernel):
        if convolution.window in WINDOWS[visibility]:
            return None
        return f"a {convolution.window} window {hides}; allowed: {', '.join(WINDOWS[visibility])}"
    side, reach = VISIBLE_SIDE[visibility], convolution.reach
    if reach is None or side == "both" or not (reach.look_back if side == "behind" else reach.look_ahead):
        return None
    return f"a window of {reach.tokens} tokens {hides}"
