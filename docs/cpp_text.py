"""Reads just enough of C++ for the generators of this folder: literals, balanced brackets, the arguments of a call."""
import re

OPEN, CLOSE = "([{", ")]}"


def skip_literal(text, at):
    """The position behind the string or character literal that begins at `at`."""
    quote = text[at]
    at += 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def closing(text, at):
    """The position of the bracket that closes the one at `at`."""
    depth = 0
    while True:
        c = text[at]
        # The ' of 1'000 is not a character literal.
        if c == '"' or (c == "'" and not text[at - 1].isdigit()):
            at = skip_literal(text, at)
            continue
        if text.startswith("//", at):
            at = text.index("\n", at)
        if c in OPEN:
            depth += 1
        if c in CLOSE:
            depth -= 1
            if depth == 0:
                return at
        at += 1


def arguments(text, at):
    """The arguments, as written, of the call whose bracket opens at `at`."""
    end = closing(text, at)
    parts, start, at = [], at + 1, at + 1
    while at < end:
        c = text[at]
        if c == '"' or (c == "'" and not text[at - 1].isdigit()):
            at = skip_literal(text, at)
            continue
        if c in OPEN:
            at = closing(text, at)
        elif c == ",":
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    parts.append(text[start:end].strip())
    return parts


def literal(text):
    """The value of one or more adjacent string literals; None if `text` is something else."""
    value, rest = "", text.strip()
    while rest.startswith('"'):
        end = skip_literal(rest, 0)
        value += re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), rest[1:end - 1])
        rest = rest[end:].strip()
    return value if value and not rest else None


def one_line(code):
    return re.sub(r"\s+", " ", code).strip()
