#!/usr/bin/env python3
"""Writes errors.md, the catalogue of user mistakes, from the tests that hold them: each row is a case that is run, so the text is real."""
import argparse
import collections
import re

import cpp_text
import pages

Mistake = collections.namedtuple("Mistake", "area kind text code test")

FRONT_END, HOST, TEXT, COMMAND = "In a kernel", "At a launch and on the host", "In the text of tile IR", "At the command line"
GRAPH = "In a graph"

# What to do, by kind: the first whose pattern is found in the message, in C++; by the test's file in text; by the table's comments at the
# command line. What has no kind stands at the end of its area.
KINDS = {
    FRONT_END: [
        ("Shapes that do not meet", r"extents must be equal or 1|does not broadcast|'[^']+' is (a scalar|\[[^]]*\]) and '[^']+' is ",
         "Shapes are aligned from the right and only extents of 1 stretch. Bring the tiles into one shape: `column`, `row`, `expand_dims`, "
         "`broadcast_to`, or another `arange`. The note of the message shows where the other tile was made."),
        ("Memory outside of buffers", r"index -?\d+ of a buffer|null pointer|no buffer on this device|address 0x",
         "Found in checked mode (`Launch::check`) at the access itself. Mask the lanes that are outside, or use a view. The note names the "
         "launch. Emulators find such accesses in any mode, in words of their own."),
        ("Constants that do not fit", r"constant \S+ |has no infinity|is not an integer",
         "A C++ number takes the type of the tile that it meets. Cast the tile to a wider type first, or choose a number that fits."),
        ("Handles outside of their block",
         r"was made (inside|in)|is empty|another (trace|kernel)|outside of|first value|no kernel is|belongs to",
         "A handle names a value of the kernel that is being traced, in the loop or branch that made it. Declare it with a value before "
         "the "
         "loop or branch and assign to it inside; do not keep handles from one kernel to another."),
        ("Loops and branches", r"\bloop|\bwhen\b|\bwhile|branch|range:|\bstep\b|^condition",
         "The body of a run-time loop is traced once: do not leave it early, and let every handle keep its type and shape. For a condition "
         "inside of a loop, use `tw::when`; for a loop that ends early, `tw::loop_while`."),
        ("Combine functions", r"combine function|combine|\bfunction of (reduce|scan)",
         "The function of `reduce` and `scan` works on scalars and may only compute: no memory, no loops, no assignments to handles "
         "outside."),
        ("Matrix products", r"^dot", "`a` is [M, K], `b` is [K, N] and `acc` is [M, N], or all with one batch extent in front; "
         "`dot_scaled` has "
         "one scale for 32 elements of K."),
        ("Prints, assertions, hints, PTX", r"^(device_print|device_assert|assume|multiple_of|max_contiguous|inline_ptx)",
         "One `{}` for each tile; hints need conditions, integers or pointers; PTX needs a constraint for the result and for each tile."),
        ("Atomics", r"^atomic", "Atomics are on integers and floats of 32 and 64 bits (`atomic_add` also on f16 and bf16); value and mask "
         "broadcast to the pointers, never the reverse."),
        ("Extents and sizes of tiles",
         r"power of two|too large|elements; a|must be positive|the end must be above|elements must fit|at most 5|over 5"
         r"|reshape|bins",
         "Extents are powers of two, 2^20 elements at most in a tile of up to five axes. Choose the next power of two "
         "(`tw::next_power_of_two`) and mask what is too much, or loop over smaller tiles."),
        ("Axes", r"axis|\baxes\b|is a scalar|rank", "Axes count from 0, the outermost; negative ones from the end. What works along an "
         "axis needs "
         "a tile that has it."),
    ],
    GRAPH: [
        ("At a run", r"^run: |is not given|elements; \[|no value|index \d+ is out|is not an integer|it must be a multiple",
         "Every input that an output needs gets a buffer of its size, every symbol a value within its bounds with which all extents are integers. "
         "Nothing is launched and no output is written."),
        ("Names, graphs, symbols", r"name|another graph|two graphs|is empty|moved from|min = |multiple",
         "Inputs, scalars, outputs and symbols of a graph have one set of names; tensors and symbols belong to the graph that made them."),
        ("Functions of reduce", r"the function", "The function works on scalars and constants, element by element."),
        ("Products", r"^(matmul|einsum)", "`a` is [..., M, K] and `b` is [..., K, N]; a label of `einsum` is one letter for each axis, and has one "
         "extent."),
        ("Shapes that do not fit", r"extents must be equal or 1|does not broadcast|must be alike|it must be \[|with '",
         "Shapes are aligned from the right and only extents of 1 stretch; extents with symbols fit if they are equal as expressions. The "
         "notes show where both tensors were made."),
        ("Shapes and axes", r"", "Extents are 0 or more, and a tensor has at most six; negative axes count from the end."),
    ],
    HOST: [
        ("Views", r"view", "A view's extents and strides must stay inside of its buffer, which must outlive it; `load` and `store` "
         "belong into "
         "kernels, on parameters."),
        ("Grids and options", r"grid|num_warps|num_stages", "1 to 3 extents from 1 to 2^31 - 1; `num_warps` a power of two up to 32; "
         "`num_stages` "
         "from 1 to 8."),
        ("Kernels", r"kernel|constant", "A kernel needs a function, and a launch is not part of a kernel. A kernel that was moved from "
         "is empty."),
        ("Devices, targets, streams", r"device|target|stream|event",
         "One device for all arguments and the stream; name it in `Launch::device` where no argument has one. `tw::Device::list()` says "
         "what "
         "there is, and why other devices cannot be used."),
        ("Buffers and pointers", r"", "Sizes must agree, pointers must be aligned to their elements and belong to the device, and a "
         "buffer that "
         "was moved from is empty."),
    ],
}
BY_FILE = {
    "syntax": ("Syntax", "The message says what was read and what could stand there; `tilewright ops NAME` shows an op's form."),
    "names": ("Names", "A value is defined once, above its uses, in the same region or one around it."),
    "types": ("Types as written", "`f32`, `i32[64]`, `ptr<const f32>[8, 8]`: extents are powers of two, 2^20 elements at most."),
    "attributes": ("Attributes", "`tilewright ops NAME` lists an op's attributes and the values they take."),
    "elementwise": ("Element-wise ops", "Operands have one type and shape; convert with `cast`, stretch with `broadcast`."),
    "shape_and_memory": ("Shapes and memory", "What is loaded or stored has the shape of the pointers and the element that they point to."),
    "reduce_and_dot": ("Reductions and products", "The region takes two elements of each operand and yields one of each."),
    "whole_tiles": ("Scans, sorts, gather, histogram", "Along an axis that is there; regions as of `reduce`."),
    "shared_memory": ("Buffers, copies, matrix instructions", "Only passes make these ops. `buffer_slot` makes a view of one slot, "
                      "`buffer_load` a tile of it; layouts follow from the matrix instruction."),
    "control": ("Loops and branches", "What a region yields has the types of the results; conditions are scalar `i1`."),
    "atomics_and_reports": ("Atomics, prints, assertions, hints", "Atomics are on elements of 32 and 64 bits; texts are in quotes."),
}
BY_COMMENT = {
    "commands and options": "`tilewright --help` and `tilewright COMMAND --help` list what there is.",
    "layouts": "`tilewright layout --help` shows the forms of layouts.",
    "files": "Check the name and the permissions.",
    "texts": "The line is shown with the message; see also the mistakes in the text of tile IR.",
    "targets, forms, passes, kernels": "`tilewright devices`, `tilewright opt --help` and the file itself list the names.",
    "launches": "`--grid X[,Y[,Z]]`, and `--device cpu` or `--device interpreter`.",
    "arguments": "`NAME=VALUE`: a `.npy` file or `zeros:TYPE:N` for a pointer, `TYPE:NUMBER` for a number.",
    "what only the launch finds": "The location is that of the access in the text.",
    "reduce": "`reduce` needs a kernel that fails, and the passes or the launch that show it.",
}


def in_test_cases(text):
    """Pairs (name, body) of the TEST_CASEs of a file."""
    starts = [(m.start(), m[1]) for m in re.finditer(r'TEST_CASE\("([^"]*)"\)', text)] + [(len(text), "")]
    return [(name, text[at:starts[i + 1][0]]) for i, (at, name) in enumerate(starts[:-1])]


def calls(text, name):
    for found in re.finditer(rf"(?<![\w.:]){name}\(", text):
        yield cpp_text.arguments(text, found.end() - 1)


def from_unit_test(file):
    path = str(file.relative_to(pages.ROOT))
    for _, body in in_test_cases(file.read_text()):
        def found(area, text, code):
            text = cpp_text.literal(text)
            if text and text != "no error":
                text = re.sub(r"^(.*?: )?error: ", "", text)
                kind = next((title for title, pattern, _ in KINDS[area] if re.search(pattern, text)), None)
                yield Mistake(area, kind, text, cpp_text.one_line(code), path)

        for macro, area in (("MISTAKE", FRONT_END), ("OUTSIDE", FRONT_END), ("REFUSED", HOST), ("GRAPH_MISTAKE", GRAPH)):
            for text, *code in calls(body, macro):
                yield from found(area, text, ", ".join(code))
        for *code, text in calls(body, "CHECK_REFUSED"):
            yield from found(HOST, text, ", ".join(code))
        for line, text, *code in calls(body, "expect"):
            inner = re.search(r"\{(.*)\}$", ", ".join(code), re.S)
            if line == "__LINE__" and inner:
                yield from found(FRONT_END, text, inner[1])
        for line, text, _, code in (c for c in calls(body, "mistake") if c[0] == "__LINE__"):
            said, inner = cpp_text.literal(text), re.search(r"\{(.*)\}$", code, re.S)
            yield from found(GRAPH, f'"run: {said}"' if said else text, inner[1] if inner else code)
        for condition in calls(body, "has"):
            if condition[0].startswith("error_of("):
                inner = re.search(r"\{(.*)\}\)$", condition[0], re.S)
                yield from found(HOST, condition[-1], inner[1].rstrip("; ") if inner else "")


def from_command_line(file):
    text = file.read_text()
    table = re.search(r"kMistakes = \{", text)
    entries = cpp_text.arguments(text, table.end() - 1)
    kind = None
    for entry in entries:
        comment = re.match(r"\s*// ---- (.*) ----", entry)
        kind = comment[1] if comment else kind
        entry = re.sub(r"^(\s*//[^\n]*\n)*", "", entry).strip()
        if not entry.startswith("{"):
            continue
        words, _, message = cpp_text.arguments(entry, 0)
        quoted = [w.replace('\\"', '"') for w in re.findall(r'"((?:[^"\\]|\\.)*)"', words)]
        command = " ".join((["run", "add.tile", "--grid", "1"] if words.startswith("add(") else []) + quoted)
        said = cpp_text.literal(message)
        if said is None or said.startswith("\n") or said.endswith(": "):
            continue  # checks of how a location is shown
        said = re.sub(r"^(tilewright|\S+\.tile:\d+:\d+): error: ", "", said).split("\nsee")[0].strip()
        if not said.startswith("Usage"):
            yield Mistake(COMMAND, kind, said, f"tilewright {command}", str(file.relative_to(pages.ROOT)))


def from_text_test(file):
    lines = file.read_text().splitlines()
    for i, line in enumerate(lines):
        found = re.match(r"(.*?)\s*// error: (.*)$", line)
        if not found:
            continue
        code = found[1].strip() or next((l.split("//")[0].strip() for l in lines[i + 1:] if not l.strip().startswith("//")), "")
        yield Mistake(TEXT, BY_FILE.get(file.stem, (file.stem,))[0], found[2].strip(), code, str(file.relative_to(pages.ROOT)))


def distinct(mistakes):
    """One of each form: messages that differ in numbers only, or that are the beginning of another one, are the same mistake."""
    kept = {}
    for m in sorted(mistakes, key=lambda m: -len(m.text)):
        form = re.sub(r"\d+", "0", m.text)
        if not any(area == m.area and other.startswith(form) for area, other in kept):
            kept[m.area, form] = m
    chosen = set(kept.values())
    return [m for i, m in enumerate(mistakes) if m in chosen and m not in mistakes[:i]]


def cell(text, limit=170):
    text = cpp_text.one_line(text)
    if len(text) > limit:
        text = text[:limit - 4].rstrip() + " ..."
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def anchor(title):
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def advice(area):
    """Pairs (kind, what to do) in the order of the page."""
    if area == TEXT:
        return list(BY_FILE.values())
    return [(title, text) for title, _, text in KINDS[area]] if area in KINDS else list(BY_COMMENT.items())


def page(mistakes):
    areas = [FRONT_END, HOST, GRAPH, TEXT, COMMAND]
    count = collections.Counter(m.area for m in mistakes)
    forms = {re.sub(r"\d+", "0", re.sub(r"^[\w+*/<>=&|^!~-]+: ", "", m.text)) for m in mistakes}
    out = ["# Mistakes and messages", "", "<!-- Written by docs/generate_errors.py from the tests; do not edit. -->", "",
           f"{len(mistakes)} mistakes that Tilewright tells apart, each held by a test of its text; {len(forms)} messages, if the same "
           f"one of two",
           "operations counts once. In C++ each is a `tw::Error`: `what()` begins with `file:line:column: error: ` of your own source, "
           "further",
           "lines are notes on the other party, and `where()` gives the location. The program `tilewright` prints the same to standard error",
           "with the line itself, and ends with 1, or with 2 where the command line is wrong. Many mistakes do not get that far: signed "
           "with",
           "unsigned, arithmetic on `bool` or fp8, an argument of a wrong type do not compile.", ""]
    for area in areas:
        out.append(f"* [{area}](#{anchor(area)}): {count[area]}")
    out.append("")
    for area in areas:
        out += [f"## {area}", ""]
        known = dict(advice(area))
        kinds = [*known, *sorted({m.kind for m in mistakes if m.area == area and m.kind and m.kind not in known}), None]
        for kind in kinds:
            members = [m for m in mistakes if m.area == area and m.kind == kind]
            if members:
                title = kind[0].upper() + kind[1:] if kind else "Others"
                out += [f"### {title}", "", *([known[kind], ""] if kind in known else [])]
                out += ["| message | what was written | test |", "|---|---|---|"]
                out += [f"| {cell(m.text, 400)} | {cell(m.code)} | [{m.test.split('/')[-1].split('.')[0]}](../{m.test}) |" for m in members]
                out.append("")
    return "\n".join(out)


def collect():
    """Every distinct mistake that a test holds."""
    tests = pages.ROOT / "tests"
    mistakes = []
    for folder in ("unit/frontend", "unit/runtime"):
        for file in sorted((tests / folder).rglob("*_test.cpp")):
            mistakes += from_unit_test(file)
    for file in sorted((tests / "files").rglob("*.tile")):
        mistakes += from_text_test(file)
    mistakes += from_command_line(tests / "cli/mistakes_test.cpp")
    mistakes = distinct(mistakes)
    if len(mistakes) < 120:
        pages.fail(f"found {len(mistakes)} mistakes in the tests; there are more: is one of their forms not read any longer?")
    return mistakes


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="change nothing, fail if the page is out of date")
    pages.finish({"docs/errors.md": page(collect())}, options.parse_args().check)


if __name__ == "__main__":
    main()
