#!/usr/bin/env python3
"""Writes the language reference from the doc comments of the public headers, with the mistakes that tests hold, and the op reference
from the op table, as `tilewright ops` has it. A public name that no group lists, or that has no doc comment, is an
error: so nothing is left out."""
import argparse
import collections
import pathlib
import re
import subprocess

import generate_errors
import header_text
import pages

FRONT, RUNTIME, TILEIR = "frontend/include/tilewright/", "runtime/include/tilewright/", "tileir/include/tilewright/"
CREATE, LIBRARY = FRONT + "ops/create.h", FRONT + "ops/library.h"

# Title, what to know first, and where it comes from: headers, or pairs of a header and some of its names.
GROUPS = [
    ("Values and types",
     "A kernel computes on handles, `tw::Tile<T>`: names of tiles. A C++ number that meets a tile takes the tile's type if it fits, "
     "else it is an "
     "error. Of two element types of one kind the wider one is met (`I8` with `I32` is `I32`, `F16` with `F32` is `F32`, `F16` with "
     "`BF16` is "
     "`F32`); integers with floats, and signed with unsigned of the same width, do not compile. Shapes broadcast as in NumPy. In "
     "signatures, "
     "`Argument` is a tile or a C++ number, `Common<A, B>` the element type they meet in, `Pointee<P>` what a pointer points to.",
     [FRONT + "tile.h", TILEIR + "elements.h", TILEIR + "here.h"]),
    ("Program", "Many copies of a kernel run, one for each point of a grid; each asks which one it is.",
     [(CREATE, ["program_id", "num_programs"])]),
    ("Create", "Shapes are braced lists of powers of two; `{}` is the shape of a scalar.",
     [(CREATE, ["arange", "full", "zeros", "ones", "zeros_like", "full_like"])]),
    ("Shape operations", "Axes count from 0, the outermost; negative ones from the end. The order of elements is always row-major.",
     [(CREATE, ["column", "row", "transpose", "ravel", "expand_dims", "squeeze", "broadcast_to", "reshape", "permute", "flip", "join",
                "split", "interleave", "cat"])]),
    ("Element-wise", "Also the operators of `Tile`, above. Loads, stores, comparisons, min and max keep subnormals. "
     "[Accuracy](../../passes/ACCURACY.md).",
     [FRONT + "ops/elementwise.h", FRONT + "ops/derivative.h"]),
    ("Reduce", "Tiles of any rank. The order of combinations is fixed: the same bits from run to run.", [FRONT + "ops/reduce.h"]),
    ("Scan", "Each element becomes the combination of those up to it.", [FRONT + "ops/scan.h"]),
    ("Sort", "Along the last axis, stable; NaN last in either direction, equal to each other as +0 and -0 are.", [FRONT + "ops/sort.h"]),
    ("Index", "", [FRONT + "ops/index.h"]),
    ("Linear algebra", "", [FRONT + "ops/dot.h"]),
    ("Memory", "Offsets count elements and are 64 bits in effect. A store is visible to a later load of the same address in the same "
     "program.",
     [FRONT + "ops/memory.h"]),
    ("Views", "Made on the host by `view`, taken by a kernel as a parameter.", [FRONT + "view.h"]),
    ("Atomics", "", [FRONT + "ops/atomic.h"]),
    ("Control", "Native `if` and `for` are compile-time: they decide what is traced. These are for values that only the run knows.",
     [FRONT + "ops/control.h"]),
    ("Random", "Numbers are functions of a seed and a counter: any lane makes its own, in any order, again and again.",
     [FRONT + "ops/random.h"]),
    ("Library", "", [LIBRARY]),
    ("Hints, debugging, PTX", "Hints are believed. Checked mode (`Launch::check`) reports those that are wrong.",
     [FRONT + "ops/debug.h", RUNTIME + "device_print.h"]),
    ("Kernels and launches",
     "Parameters of a kernel that are handles or views are run-time values; every other one is a compile-time constant: numbers, bools, "
     "enums, "
     "`std::array`, aggregates of at most 16 fields of these, captureless lambdas, and types with `operator==` and `std::hash`. Pointers "
     "to data are not constants, since what they lead to may change. A "
     "kernel is compiled once "
     "per kind of device, constants, divisibility of integers, alignment of pointers and options.\n\n"
     "A struct (of at most 16 fields) or a `std::array` that has handles or views in it is passed field by field: these are run-time "
     "values, its other fields constants. A launch takes its fields in braces, or any struct of the caller with as many fields, which bind "
     "in order: buffers, references to buffers, numbers, and structs again.\n\n"
     "A launch takes for `Ptr<T>` a `Buffer<T>`, a position in one (`buffer + k`), a raw pointer of the device or `nullptr`; a const buffer and "
     "a pointer to const only for `Ptr<const T>`. For an integer it takes every integer type, and throws Error if the value does not fit; "
     "for `F32` and `F64`, and for `float` and `double`, every C++ float type, rounded, and throws Error if the value overflows. Integers "
     "for floats, floats for integers and everything else for another type do not compile.",
     [FRONT + "kernel.h", FRONT + "launch.h"]),
    ("Devices, buffers, streams", "", [RUNTIME + "device.h", RUNTIME + "buffer.h", RUNTIME + "stream.h", RUNTIME + "executor.h"]),
    ("Graphs", "Whole-tensor formulas, written down without computing them. Functions have the names and meanings of the tile language wherever "
     "both have one; shapes broadcast as in NumPy, and extents need not be powers of two. Types meet as those of tiles do.",
     [FRONT + "graph.h", FRONT + "graph/tensor.h", TILEIR + "dim.h", FRONT + "graph/tensor_handle.h", FRONT + "graph/create.h",
      FRONT + "graph/shape.h", FRONT + "graph/elementwise.h", FRONT + "graph/reduce.h", FRONT + "graph/product.h", FRONT + "graph/neural.h",
      FRONT + "graph/index.h", FRONT + "graph/placement.h", FRONT + "graph/call.h"]),
    ("Plans", "What a graph is compiled to: kernels, what they cover, and how to run them.", [RUNTIME + "plan.h"]),
    ("Tuning", "[Tuning a kernel of your own](../kernels.md#tuning-a-kernel-of-your-own) tells how a search goes.",
     [FRONT + "tuner.h", RUNTIME + "wisdom.h"]),
    ("Disk cache", "", [RUNTIME + "cache.h"]),
    ("Errors and the log", "The library never prints, but for `device_print`, and never exits.", [TILEIR + "error.h", TILEIR + "compiler_bug.h", RUNTIME + "log.h"]),
]
# Headers with nothing for users in them, or that only include others.
WITHOUT_NAMES = {FRONT + "constants.h", FRONT + "ops.h", FRONT + "tilewright.h", RUNTIME + "kernel_key.h", TILEIR + "small_float.h"}

Entry = collections.namedtuple("Entry", "names parts")  # parts: items of one heading


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def text_of(doc):
    """A doc comment as Markdown: what is not code between backticks stands as it is written."""
    return "".join(part if part.startswith("`") else re.sub(r"([<*\[_])", r"\\\1", part) for part in re.split(r"(`[^`]*`)", doc))


def entries(items):
    """Overloads stand under one heading."""
    made = []
    for item in items:
        if made and made[-1].names == item.names:
            made[-1].parts.append(item)
        else:
            made.append(Entry(item.names, [item]))
    return made


def rows(members):
    out = ["", "| member | |", "|---|---|"]
    for m in members:
        for i, s in enumerate(m.signature):
            said = text_of(" ".join(m.doc.split())) if i == 0 else ""
            out.append(f"| `{s}` | {said} |".replace("||", "\\|\\|").replace("operator|", "operator\\|"))
    return out


def heading(names):
    return ", ".join(f"`{n}`" for n in names[:6]) + (" ..." if len(names) > 6 else "")


def area_of(header):
    """Functions of tensors have the names of functions of tiles, and messages of their own."""
    return generate_errors.GRAPH if header.startswith(FRONT + "graph") or header == TILEIR + "dim.h" else generate_errors.FRONT_END


def refused(names, mistakes, area):
    """What the functions of these names refuse, as tests have it: one message of each form, whatever the operand is called."""
    forms = {}
    for m in mistakes:
        if m.area == area and m.kind != "At a run" and m.text.split(":")[0] in [n.split("::")[-1] for n in names] and len(m.text) < 160:
            forms.setdefault(re.sub(r"'\w+'|\[[^]]*\]|-?\d+|a scalar", "", m.text.split(":", 1)[1]), m.text)
    return list(forms.values())


def entry_text(entry, ops, mistakes, area):
    out = [f"### {heading(entry.names)}", ""]
    for item in entry.parts:
        code = item.code + ";" if item.code and not item.members else item.code or "\n".join(s + ";" for s in item.signatures)
        out += ["```cpp", code, "```", "", *([text_of(item.doc), ""] if item.doc else [])]
        if item.members:
            out += [*rows(item.members)[1:], ""]
    messages = refused(entry.names, mistakes, area)
    if messages and any(item.signatures for item in entry.parts):
        out += ["Refused, among others:", "", "```text", *messages, "```", ""]
    linked = [n for n in entry.names if n in ops]
    if linked:
        out += ["Tile IR: " + ", ".join(f"[`{n}`](ops.md#{n})" for n in linked), ""]
    return out


def language(ops, mistakes):
    headers = sorted(str(p.relative_to(pages.ROOT)) for layer in ("frontend", "runtime", "tileir")
                     for p in (pages.ROOT / layer / "include/tilewright").rglob("*.h") if "/detail/" not in str(p))
    items, left = {}, {}
    for header in headers:
        items[header], undocumented = header_text.read(header)
        left[header] = [i for i in items[header]]
        if undocumented:
            pages.fail(f"{header}: no doc comment above {', '.join(undocumented)}")
        if header in WITHOUT_NAMES and items[header]:
            pages.fail(f"{header}: {items[header][0].names[0]} is in no group of generate_reference.py")
    out = ["# The language", "",
           "<!-- Written by docs/generate_reference.py from the doc comments of the public headers; do not edit. -->", "",
           "`#include <tilewright/tilewright.h>`; everything is in namespace `tilewright`, for which `tw` stands here. Every function "
           "that can fail takes",
           "your line as a last, defaulted argument, which is left out below. [Tile IR](ops.md), op by op; the "
           "[tutorial](../tutorial/01_launch.md).", ""]
    out += [f"* [{title}](#{anchor(title)})" for title, _, _ in GROUPS] + [""]
    for title, intro, sources in GROUPS:
        out += [f"## {title}", "", *([intro, ""] if intro else [])]
        for source in sources:
            header, names = source if isinstance(source, tuple) else (source, None)
            chosen = [i for i in items[header] if names is None or i.names[0] in names]
            for name in names or []:
                if not any(name in i.names for i in chosen):
                    pages.fail(f"{header} has no '{name}', which generate_reference.py lists")
            left[header] = [i for i in left[header] if i not in chosen]
            for entry in entries(chosen):
                out += entry_text(entry, ops, mistakes, area_of(header))
    for header, rest in left.items():
        if rest:
            pages.fail(f"{header}: {rest[0].names[0]} is in no group of generate_reference.py")
    return "\n".join(out)


def op_page(program):
    text = subprocess.run([program, "ops", "--markdown"], capture_output=True, text=True, check=True, timeout=60).stdout
    # "reduce" is a family and an op: two headings of one name would have one address.
    text = re.sub(r"^## (.*)$", r"## \1 ops", text, flags=re.M)
    families = re.findall(r"^## (.*)$", text, re.M)
    head = ["# Tile IR", "", "<!-- Written by docs/generate_reference.py from the op table (tileir/ops.def); do not edit. -->", "",
            "What kernels become when they are traced. `tilewright ops` prints the same; [tileir/README.md](../../tileir/README.md) "
            "describes the",
            "text form and what the words of this page mean.", "",
            *[f"* [{f}](#{anchor(f)}): " + ", ".join(f"[`{n}`](#{n})" for n in ops_of(text, f)) for f in families], ""]
    return "\n".join(head) + "\n" + text.rstrip() + "\n"


def ops_of(text, family):
    section = re.search(rf"^## {re.escape(family)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return re.findall(r"^### `(\w+)`", section, re.M)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="change nothing, fail if a page is out of date")
    arguments.add_argument("--program", type=pathlib.Path, required=True, help="the program tilewright, which holds the op table")
    options = arguments.parse_args()
    ops = op_page(options.program)
    pages.finish({"docs/reference/language.md": language(set(re.findall(r"^### `(\w+)`", ops, re.M)), generate_errors.collect()),
                  "docs/reference/ops.md": ops}, options.check)


main()
