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


def look_up(city: str) -> str:
    """Says how the weather is."""
    return "sunny"


def tried(each):
    try:
        each()
    except Exception as error:
        return f"fails: {error!r}"[:100].replace("|", "/")
    return "yes"


TRIALS = ("plain", "stream", "tools", "two_turns", "structured_output", "errors", "translated")


def report(package):
    """Runs the functions of these names in the script, and prints one JSON object, from what was asked to what was found."""
    script = vars(sys.modules["__main__"])
    found = {name.replace("_", " "): tried(script[name]) for name in TRIALS}
    print(json.dumps({"version": importlib.metadata.version(package), **found}))
