#!/usr/bin/env python3
"""Gives doxygen the pages as it reads them: headings with the addresses that links use, and no links to files that it does not show."""
import pathlib
import re
import sys

import pages


def shown(file):
    """Doxygen takes every README for the main page, so it is given only that of the root."""
    return file.exists() and file.suffix in (".md", ".h") and (file.name != "README.md" or file.parent == pages.ROOT)


def address(page, title):
    return re.sub(r"\W+", "_", f"{page}_{title}".lower()).strip("_")


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    stem = str(page.relative_to(pages.ROOT))
    out, in_code, seen = [], False, {}
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            in_code = not in_code
        if not in_code and not line.startswith("```"):
            heading = re.match(r"(#{2,}) (.*)$", line)
            if heading:
                name = anchor(heading[2])
                seen[name] = seen.get(name, -1) + 1
                name += f"-{seen[name]}" if seen[name] else ""  # the second of one name
                line = f"{heading[1]} {heading[2].replace('`', '')} {{#{address(stem, name)}}}"
            elif line.startswith("# ") and page != pages.ROOT / "README.md":
                line += f" {{#{address(stem, 'page')}}}"
            else:
                # Between single backticks doxygen ends code at an apostrophe; and it takes :: behind some characters for a link.
                line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
                line = re.sub(r"(?<=[!~]std:):", "\u200b:", line)
                line = re.sub(r"\[([^\]]*)\]\(([^)\s]*)\)", lambda m: link(page, m), line)
        out.append(line)
    print("\n".join(out))


def link(page, match):
    text, target = match[1], match[2]
    if "://" in target:
        return match[0]
    path, _, part = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not shown(file):
        return text
    stem = str(file.relative_to(pages.ROOT))
    if part:
        return f"[{text}](@ref {address(stem, part)})"
    if file == pages.ROOT / "README.md":
        return f"[{text}](@ref index)"
    return f"[{text}](@ref {address(stem, 'page')})" if file.suffix == ".md" else f"[{text}]({stem})"


main()
