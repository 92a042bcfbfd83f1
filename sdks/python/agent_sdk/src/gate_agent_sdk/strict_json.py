"""
Arguments that a model wrote as text, read so that every other reader reads the same. Two parsers may differ on names that stand twice, on
integers that a double cannot hold and on halves of characters (RFC 7493, sections 2.1 to 2.3), and then another call would run than was judged.
"""

from __future__ import annotations

import json
import math

MOST_INTEGER = 2**53 - 1


class Disputed(ValueError):
    """Why a text has no value that all parsers agree on."""


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read: dict[str, object] = {}
    for name, value in pairs:
        if name in read:
            raise Disputed(f"the name {json.dumps(name)} stands twice in one object")
        read[name] = value
    return read


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MOST_INTEGER:
        raise Disputed(f"the integer {text[:40]} is larger than all parsers can hold")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Disputed(f"the number {text[:40]} is larger than all parsers can hold")
    return value


def _constant(_: str) -> object:
    raise Disputed("they are no JSON")


def strict_json(text: str) -> object:
    """The value of a text. Raises `Disputed` where parsers may differ, or the text is no JSON."""
    try:
        text.encode()
        value: object = json.loads(
            text, object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_constant
        )
    except Disputed:
        raise
    except (ValueError, RecursionError):
        raise Disputed("they are no JSON") from None
    return value
