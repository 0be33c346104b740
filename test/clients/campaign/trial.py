"""What the trials of Python's libraries have in common: the site, what is asked there, and the report."""

import importlib.metadata
import json
import sys

from pydantic import BaseModel

URL, KEY, SPENT = sys.argv[1:4]
# What the mock answers, and no prompt says.
WORDS, ANSWER = "Say /words 3 please", "word word word"
CALL = '/call look_up {"city": "Rome"}'


class City(BaseModel):
    city: str


def tried(each):
    try:
        each()
    except Exception as error:
        return f"fails: {error!r}"[:100].replace("|", "/")
    return "yes"


def report(package, **tries):
    """Prints one JSON object, from what was asked to what was found."""
    found = {name.replace("_", " "): tried(each) for name, each in tries.items()}
    print(json.dumps({"version": importlib.metadata.version(package), **found}))
