#!/usr/bin/env python3
"""Checks the hand-written pages: their code blocks are regions of files that are compiled and run, the output they quote is what those programs
print, every link leads to a file, and triton.md has every name of Triton.

    <!-- code: tutorial/02_masks.cpp kernel -->   the block below is the region between // [kernel] and // [/kernel] of that file
    <!-- output: 02_masks -->                     the block below is what the program prints (needs --programs)
"""
import argparse
import pathlib
import re
import subprocess
import textwrap

import pages

DOCS = pages.ROOT / "docs"
BLOCK = re.compile(r"(?P<head><!-- (?P<kind>code|output): (?P<what>[^>]*?) -->\n```\w+\n)(?P<body>.*?)(?P<tail>^```$)", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def region(file, name):
    """The lines between the markers, without what they are all indented by."""
    text = (DOCS / file).read_text()
    found = re.search(rf"^ *// \[{re.escape(name)}\]\n(.*?)^ *// \[/{re.escape(name)}\]$", text, re.M | re.S)
    if not found:
        pages.fail(f"{file} has no region '{name}'")
    return textwrap.dedent(found.group(1))


def output(program, folder):
    run = subprocess.run([folder / f"tutorial_{program}"], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        pages.fail(f"{program} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout


def filled(page, programs, used):
    """The page with its blocks as they should be."""
    def replace(match):
        words = match["what"].split()
        if match["kind"] == "code":
            used.add(tuple(words))
            body = region(*words)
        else:
            body = output(words[0], programs) if programs else match["body"]
        return match["head"] + body + match["tail"]

    text = page.read_text()
    if text.count("<!-- code:") + text.count("<!-- output:") != len(BLOCK.findall(text)):
        pages.fail(f"{page.relative_to(pages.ROOT)}: a marker without a block below it")
    return BLOCK.sub(replace, text)


def expect_links(page):
    for target in LINK.findall(re.sub(r"```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)):
        path = target.split("#")[0]
        if path and "://" not in path and not (page.parent / path).exists():
            pages.fail(f"{page.relative_to(pages.ROOT)}: the link to '{target}' leads nowhere")


def expect_names():
    """The page for users of Triton leaves none of its names out."""
    said = set(re.findall(r"\w+", (DOCS / "triton.md").read_text()))
    names = " ".join(line for line in (DOCS / "triton_names.txt").read_text().splitlines() if not line.startswith("#"))
    missing = [name for name in names.split() if name not in said]
    if missing:
        pages.fail(f"triton.md does not say what becomes of {', '.join(missing)}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="change nothing, fail if a page is out of date")
    arguments.add_argument("--programs", type=pathlib.Path, help="the folder of the tutorial's programs, to compare what they print")
    options = arguments.parse_args()

    used, new = set(), {}
    all_pages = [pages.ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    for page in all_pages:
        new[str(page.relative_to(pages.ROOT))] = filled(page, options.programs, used)
    for file in sorted((DOCS / "tutorial").glob("*.cpp")):
        for name in re.findall(r"// \[(\w+)\]", file.read_text()):
            if (f"tutorial/{file.name}", name) not in used:
                pages.fail(f"no page shows the region '{name}' of {file.name}")
    for page in all_pages:
        expect_links(page)
    expect_names()
    pages.finish(new, options.check)


main()
