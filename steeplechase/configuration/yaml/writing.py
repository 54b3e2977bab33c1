"""An experiment as YAML text: what differs from the defaults, so that the file gives the same experiment again."""

import json

import yaml
from pydantic import BaseModel

from steeplechase.foundation.canonical import canonical

WIDTH = 110


def experiment_text(experiment: BaseModel, remark: str) -> str:
    """Return the text of a file that declares the experiment, with a remark of one line above it.

    Plugins are named by their folders as the experiment's own file names them.
    """
    document = canonical(experiment)
    plugins = document.get("plugins")
    if isinstance(plugins, list):
        document["plugins"] = [plugin["path"] if isinstance(plugin, dict) else plugin for plugin in plugins]
    plain = json.loads(json.dumps(document, ensure_ascii=False))  # YAML has no enumerations
    return f"# {remark}\n{yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=WIDTH)}"
