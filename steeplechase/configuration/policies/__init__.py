"""Policies of evolution, one file each, found by listing this folder."""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from steeplechase.configuration.policies.policy import Policy

POLICIES = tuple(file.name for file in pkgutil.iter_modules(__path__) if file.name != "policy")
"""Their names."""

if TYPE_CHECKING:
    PolicyName = str
else:
    PolicyName = Literal[POLICIES]


def policy_of(name: PolicyName) -> Policy:
    """Return the policy of a name."""
    found: Policy = import_module(f"{__name__}.{name}").POLICY
    return found
