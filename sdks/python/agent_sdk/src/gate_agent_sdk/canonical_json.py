"""The RFC 8785 form of plain JSON: names in the order of their UTF-16 units, no blanks, numbers as ECMAScript writes them."""

from __future__ import annotations

import hashlib
import json
from typing import cast


def _number(value: float) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(digits) - len(part) + int(exponent or "0")
    digits = digits.rstrip("0")
    size = len(digits)
    if size <= point <= 21:
        return f"{sign}{digits}{'0' * (point - size)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if size > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def canonical_json(value: object) -> str:
    if isinstance(value, dict):
        members = sorted(cast("dict[str, object]", value).items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(part)}" for name, part in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical_json(part) for part in cast("list[object]", value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(float(value))
    return json.dumps(value, ensure_ascii=False)


def canonical_digest(value: object) -> str:
    """`sha256:` and the digest of the RFC 8785 form, in hexadecimal."""
    return f"sha256:{hashlib.sha256(canonical_json(value).encode()).hexdigest()}"
