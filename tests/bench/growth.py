#!/usr/bin/env python3
# Compiles families of graphs that grow, and prints and draws the time against the size: no family should grow faster than n^1.2.
"""growth.py TILEWRIGHT [--family NAME ...] [--sizes 50 100 200 400 800] [--search off estimate] [--target cpu] [--svg FILE]

The exponent is the slope of log(time) over log(n) between the smallest and the largest size, after the time of an empty process."""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile


class Graph:
    """The text of a graph."""

    def __init__(self):
        self.lines, self.outputs, self.count = [], [], 0

    def add(self, text, shape, element="f32"):
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text} : {element}{shape}")
        return f"%v{self.count}"

    def input(self, name, shape, element="f32"):
        self.lines.append(f"  %{name} = input : {element}{shape}")
        return f"%{name}"

    def number(self, value, element="f32"):
        return self.add(f"constant {{data = [{value}]}}", "", element)

    def output(self, value):
        self.outputs.append(f'  output "y{len(self.outputs)}" {value}')

    def text(self):
        return "graph {\n" + "\n".join(self.lines + self.outputs) + "\n}\n"


SHAPE, SMALL = "[64, 32]", "[64, 1]"


def op(g, name, *operands, shape=SHAPE, element="f32"):
    return g.add(f"{name} {', '.join(operands)}", shape, element)


def total(g, values, shape=SHAPE):
    """The sum of values, one after the other."""
    result = values[0]
    for v in values[1:]:
        result = op(g, "add", result, v, shape=shape)
    return result


def tree(g, values, shape=SHAPE):
    while len(values) > 1:
        values = [op(g, "add", *values[i:i + 2], shape=shape) if i + 1 < len(values) else values[i] for i in range(0, len(values), 2)]
    return values[0]


def reduced(g, x, kind, axis, shape):
    return g.add(f"reduce {x} {{kind = {kind}, axes = [{axis}], keep_dims}}", shape)


def softmax(g, x):
    e = op(g, "exp", op(g, "sub", x, reduced(g, x, "max", 1, SMALL)))
    return op(g, "div", e, reduced(g, e, "sum", 1, SMALL))


def product(g, a, b, shape=SHAPE):
    return g.add(f'einsum {a}, {b} {{text = "ij,jk->ik"}}', shape)


def chain(g, n):
    x = g.input("x", SHAPE)
    for _ in range(n):
        x = op(g, "sin", x)
    g.output(x)


def outputs_of_product(g, n):
    p = product(g, g.input("a", "[64, 48]"), g.input("b", "[48, 32]"))
    for i in range(n):
        g.output(op(g, "mul", p, g.input(f"c{i}", SHAPE)))


def outputs_of_reduction(g, n):
    s = reduced(g, g.input("a", SHAPE), "sum", 1, SMALL)
    for i in range(n):
        g.output(op(g, "mul", s, g.input(f"c{i}", SHAPE)))


def outputs_of_elementwise(g, n):
    e = op(g, "exp", g.input("a", SHAPE))
    for i in range(n):
        g.output(op(g, "mul", e, g.input(f"c{i}", SHAPE)))


def outputs_of_input(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        g.output(op(g, "sin", op(g, "mul", x, g.number(1.0 + i))))


def outputs_with_chains(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        y = op(g, "mul", x, g.number(1.0 + i))
        for _ in range(10):
            y = op(g, "sin", y)
        g.output(y)


def consumers_summed(g, n):
    e = op(g, "exp", g.input("x", SHAPE))
    g.output(total(g, [op(g, "sin", op(g, "mul", e, g.number(1.0 + i))) for i in range(n)]))


def consumers_of_product_summed(g, n):
    p = product(g, g.input("a", "[64, 48]"), g.input("b", "[48, 32]"))
    g.output(total(g, [op(g, "sin", op(g, "mul", p, g.number(1.0 + i))) for i in range(n)]))


def reductions_of_axes(g, n):
    axes = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    x = g.input("x", "[16, 24, 32]")
    for i in range(n):
        chosen, kind = axes[i % 7], ["sum", "max", "min"][i // 7 % 3]
        shape = [str(e) for a, e in enumerate([16, 24, 32]) if a not in chosen]
        scaled = op(g, "mul", x, g.number(1.0 + i), shape="[16, 24, 32]")
        g.output(g.add(f"reduce {scaled} {{kind = {kind}, axes = {chosen}}}", f"[{', '.join(shape)}]" if shape else ""))


def reductions_of_rows(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        g.output(reduced(g, op(g, "sin", op(g, "mul", x, g.number(1.0 + i))), "sum", 1, SMALL))


def slices(g, n):
    x = g.input("x", f"[{n * 4}, 32]")
    parts = [g.add(f"slice {x} {{axes = [0], lengths = [{4 * i}, {4 * i + 4}, 1]}}", "[4, 32]") for i in range(n)]
    for i, p in enumerate(parts):
        g.output(op(g, "sin", p, shape="[4, 32]"))


def slices_as_outputs(g, n):
    x = g.input("x", f"[{n * 4 + 3}, 32]")
    for i in range(n):
        g.output(g.add(f"slice {x} {{axes = [0], lengths = [{4 * i + i % 4}, {4 * i + i % 4 + 1 + i % 3}, 1]}}", f"[{1 + i % 3}, 32]"))


def slices_summed(g, n):
    x = g.input("x", f"[{n * 4}, 32]")
    g.output(tree(g, [g.add(f"slice {x} {{axes = [0], lengths = [{4 * i}, {4 * i + 4}, 1]}}", "[4, 32]") for i in range(n)], "[4, 32]"))


def nested_concats(g, n):
    x = g.input("x", "[4, 32]")
    y = x
    for i in range(n):
        y = g.add(f"concat {y}, {x} {{axes = [0]}}", f"[{4 * (i + 2)}, 32]")
    g.output(y)


def nested_concats_of_inputs(g, n):
    y = g.input("x", "[4, 32]")
    for i in range(n):
        y = g.add(f"concat {y}, {op(g, 'sin', g.input(f'x{i}', '[4, 32]'), shape='[4, 32]')} {{axes = [0]}}", f"[{4 * (i + 2)}, 32]")
    g.output(y)


def concats_in_front(g, n):
    y = g.input("x", "[4, 32]")
    for i in range(n):
        y = g.add(f"concat {g.input(f'x{i}', '[4, 32]')}, {y} {{axes = [0]}}", f"[{4 * (i + 2)}, 32]")
    g.output(y)


def concats_as_tree(g, n):
    """Concatenations of two in two, of pieces of different lengths."""
    level = [(g.input(f"x{i}", f"[{1 + i % 7}, 32]"), 1 + i % 7) for i in range(n)]
    while len(level) > 1:
        pairs = [level[i:i + 2] for i in range(0, len(level), 2)]
        joined = lambda a, b: (g.add(f"concat {a[0]}, {b[0]} {{axes = [0]}}", f"[{a[1] + b[1]}, 32]"), a[1] + b[1])
        level = [p[0] if len(p) == 1 else joined(*p) for p in pairs]
    g.output(level[0][0])


def casts(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        element = ["f16", "f32", "bf16", "f32"][i % 4]
        x = op(g, "cast", x, element=element)
    g.output(x)


def wheres(g, n):
    x, m = g.input("x", SHAPE), g.input("m", SHAPE)
    for i in range(n):
        x = op(g, "select", op(g, "ge", m, g.number(0.01 * i), element="i1"), op(g, "mul", x, g.number(0.5)), op(g, "neg", x))
    g.output(x)


def shared_ladder(g, n):
    a, b = g.input("a", SHAPE), g.input("b", SHAPE)
    for _ in range(n // 2):
        a, b = op(g, "mul", op(g, "add", a, b), g.number(0.5)), op(g, "mul", op(g, "sub", a, b), g.number(0.5))
    g.output(a)
    g.output(b)


def doubled(g, n):
    x = g.input("x", SHAPE)
    for _ in range(n):
        x = op(g, "tanh", op(g, "add", x, x))
    g.output(x)


def gathers(g, n):
    x = g.input("x", "[100, 32]")
    for i in range(n):
        g.output(g.add(f"gather {x}, {g.input(f'i{i}', '[64]', 'i32')} {{axes = [0]}}", SHAPE))


def gathers_summed(g, n):
    x = g.input("x", "[100, 32]")
    g.output(total(g, [g.add(f"gather {x}, {g.input(f'i{i}', '[64]', 'i32')} {{axes = [0]}}", SHAPE) for i in range(n)]))


def products_of_operand(g, n):
    a = g.input("a", "[64, 48]")
    for i in range(n):
        g.output(product(g, a, g.input(f"b{i}", "[48, 32]")))


def products_of_operand_summed(g, n):
    a = g.input("a", "[64, 48]")
    g.output(total(g, [product(g, a, g.input(f"b{i}", "[48, 32]")) for i in range(n)]))


def chain_of_products(g, n):
    x = g.input("x", "[64, 32]")
    for i in range(n):
        x = product(g, x, g.input(f"w{i}", "[32, 32]"))
    g.output(x)


def softmaxes_side_by_side(g, n):
    for i in range(n):
        g.output(softmax(g, g.input(f"x{i}", SHAPE)))


def softmaxes_of_input(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        g.output(softmax(g, op(g, "mul", x, g.number(1.0 + i))))


def inputs_as_tree(g, n):
    g.output(tree(g, [g.input(f"x{i}", SHAPE) for i in range(n)]))


def inputs_in_order(g, n):
    g.output(total(g, [g.input(f"x{i}", SHAPE) for i in range(n)]))


def concat_of_functions(g, n):
    x = g.input("x", "[4, 32]")
    pieces = [op(g, "sin", op(g, "mul", x, g.number(1.0 + i), shape="[4, 32]"), shape="[4, 32]") for i in range(n)]
    g.output(g.add(f"concat {', '.join(pieces)} {{axes = [0]}}", f"[{4 * n}, 32]"))


def concat_of_functions_of_inputs(g, n):
    pieces = []
    for i in range(n):
        shape = f"[{1 + i % 7}, 32]"
        pieces.append(op(g, "tanh", op(g, "exp", g.input(f"x{i}", shape), shape=shape), shape=shape))
    g.output(g.add(f"concat {', '.join(pieces)} {{axes = [0]}}", f"[{sum(1 + i % 7 for i in range(n))}, 32]"))


def prefix_sums(g, n):
    """Output i is the sum of the first i inputs."""
    x = g.input("x0", SHAPE)
    for i in range(1, n):
        x = op(g, "add", x, g.input(f"x{i}", SHAPE))
        g.output(x)


def prefix_sums_by_scan(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        g.output(g.add(f"scan {op(g, 'mul', x, g.number(1.0 + i))} {{kind = sum, axes = [0]}}", SHAPE))


def polynomial(g, n):
    """A sum of powers of one value, each of which is the one before times the value."""
    x = g.input("x", SHAPE)
    power, terms = x, []
    for i in range(n):
        power = op(g, "mul", power, x)
        terms.append(op(g, "mul", power, g.number(1.0 / (i + 3))))
    g.output(total(g, terms))


def layers(g, n):
    x = g.input("x", "[16, 32]")
    for i in range(n):
        h = op(g, "tanh", product(g, x, g.input(f"u{i}", "[32, 64]"), "[16, 64]"), shape="[16, 64]")
        x = op(g, "add", x, product(g, h, g.input(f"d{i}", "[64, 32]"), "[16, 32]"), shape="[16, 32]")
    g.output(x)


def norms_of_outputs(g, n):
    """Each output is a norm of the same value beside a bias of its own."""
    x = g.input("x", SHAPE)
    norm = op(g, "div", x, op(g, "sqrt", reduced(g, op(g, "mul", x, x), "sum", 1, SMALL), shape=SMALL))
    for i in range(n):
        g.output(op(g, "add", norm, g.input(f"b{i}", "[32]")))


def transposes(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        x = op(g, "sin", g.add(f"permute {x} {{axes = [1, 0]}}", "[32, 64]" if i % 2 == 0 else SHAPE), shape="[32, 64]" if i % 2 == 0 else SHAPE)
    g.output(x)


def reshapes(g, n):
    """Each step divides the elements in another way, and exchanges the two axes."""
    count = 2520
    divisors = [d for d in range(2, count) if count % d == 0]
    x = g.input("x", f"[{count}]")
    for i in range(n):
        d = divisors[7 * i % len(divisors)]
        x = g.add(f"reshape {x}", f"[{d}, {count // d}]")
        x = g.add(f"permute {x} {{axes = [1, 0]}}", f"[{count // d}, {d}]")
        x = g.add(f"reshape {x}", f"[{count}]")
    g.output(x)


def reshapes_of_axes(g, n):
    """Reshapes that divide axes and join others."""
    x = g.input("x", "[64, 64]")
    for i in range(n):
        d = 2**(1 + i % 5)
        x = g.add(f"reshape {x}", f"[{d}, {64 // d}, 64]")
        x = g.add(f"permute {x} {{axes = [1, 2, 0]}}", f"[{64 // d}, 64, {d}]")
        x = g.add(f"reshape {x}", "[64, 64]")
    g.output(x)


def rotations(g, n):
    """Each step puts the first rows behind the others."""
    x = g.input("x", "[128, 32]")
    for i in range(n):
        k = 1 + i % 127
        first = g.add(f"slice {x} {{axes = [0], lengths = [0, {k}, 1]}}", f"[{k}, 32]")
        rest = g.add(f"slice {x} {{axes = [0], lengths = [{k}, 128, 1]}}", f"[{128 - k}, 32]")
        x = g.add(f"concat {rest}, {first} {{axes = [0]}}", "[128, 32]")
    g.output(x)


def flips(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        x = g.add(f"flip {x} {{axes = [{i % 2}]}}", SHAPE)
    g.output(x)


def rotates(g, n):
    x = g.input("x", SHAPE)
    for i in range(n):
        x = g.add(f"rotate {x} {{axes = [{i % 2}], lengths = [{1 + i % 31}]}}", SHAPE)
    g.output(x)


FAMILIES = {f.__name__: f for f in (
    chain, reshapes, reshapes_of_axes, rotations, flips, rotates, outputs_of_product, outputs_of_reduction, outputs_of_elementwise,
    outputs_of_input, outputs_with_chains, consumers_summed, consumers_of_product_summed, reductions_of_axes, reductions_of_rows, slices,
    slices_as_outputs, slices_summed, nested_concats, nested_concats_of_inputs, concats_in_front, concats_as_tree, casts, wheres,
    shared_ladder, doubled, gathers, gathers_summed, products_of_operand, products_of_operand_summed, chain_of_products,
    softmaxes_side_by_side, softmaxes_of_input, inputs_as_tree, inputs_in_order, concat_of_functions, concat_of_functions_of_inputs,
    prefix_sums, prefix_sums_by_scan, polynomial, layers, norms_of_outputs, transposes)}


def seconds(program, path, options, search):
    """Processor time: other programs of the machine change it less than the time of a clock. None beyond the limit."""
    command = [program, "graph", path, "--target", options.target, "--search", search, "--emit", "explain", "-o", os.devnull]
    most = lambda: resource.setrlimit(resource.RLIMIT_CPU, (options.limit, options.limit))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    no_cache = os.environ | {"TILEWRIGHT_CACHE": "off"}
    run = subprocess.run(command, capture_output=True, text=True, preexec_fn=most, env=no_cache)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode < 0:
        return None
    if run.returncode > 0:
        sys.exit(f"{path}: {run.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def draw(path, rows, sizes):
    """Draws all families: both axes are logarithmic, and a dashed line is n^1.2."""
    width, height, left, bottom = 900, 700, 60, 40
    times = [t for _, _, row in rows for t in row if t]
    low, high = math.log(min(times)), math.log(max(times))
    x = lambda n: left + (width - left - 220) * math.log(n / sizes[0]) / math.log(sizes[-1] / sizes[0])
    y = lambda t: height - bottom - (height - 2 * bottom) * (math.log(t) - low) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="10">']
    for n in sizes:
        parts.append(f'<text x="{x(n):.1f}" y="{height - 15}" text-anchor="middle">{n}</text>')
    for k in range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1):
        if low <= math.log(10.0**k) <= high:
            parts.append(f'<text x="5" y="{y(10.0**k):.1f}">{10.0**k:g} s</text>')
    start = min(times)
    end = start * (sizes[-1] / sizes[0])**1.2
    parts.append(f'<line x1="{x(sizes[0]):.1f}" y1="{y(start):.1f}" x2="{x(sizes[-1]):.1f}" y2="{y(end):.1f}" stroke="black" stroke-dasharray="4"/>')
    for i, (name, search, row) in enumerate(rows):
        points = " ".join(f"{x(n):.1f},{y(t):.1f}" for n, t in zip(sizes, row) if t)
        color = f"hsl({i * 47 % 360}, 70%, 40%)"
        stroke = 1 if search == "off" else 2
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="{stroke}"/>')
        if row[-1]:
            parts.append(f'<text x="{x(sizes[-1]) + 4:.1f}" y="{y(row[-1]):.1f}" fill="{color}">{name}, {search}</text>')
    with open(path, "w") as f:
        f.write("\n".join(parts + ["</svg>\n"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TILEWRIGHT")
    parser.add_argument("--family", nargs="*", choices=sorted(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--sizes", nargs="*", type=int, default=[50, 100, 200, 400, 800])
    parser.add_argument("--search", nargs="*", default=["off", "estimate"])
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--limit", type=int, default=60, help="seconds of one compilation")
    parser.add_argument("--svg", metavar="FILE")
    options = parser.parse_args()
    rows = []
    print(f"{'family':30} {'search':8} " + " ".join(f"{n:>7}" for n in options.sizes) + "  exponent")
    for name in options.family:
        for search in options.search:
            row = []
            for n in options.sizes:
                g = Graph()
                FAMILIES[name](g, n)
                with tempfile.NamedTemporaryFile("w", suffix=".graph") as f:
                    f.write(g.text())
                    f.flush()
                    row.append(seconds(options.program, f.name, options, search) if row[-1:] != [None] else None)
            known = [(n, t) for n, t in zip(options.sizes, row) if t]
            ends = known[-3:] if len(known) > 2 else known
            exponent = math.log(ends[-1][1] / ends[0][1]) / math.log(ends[-1][0] / ends[0][0]) if len(ends) > 1 else float("nan")
            print(f"{name:30} {search:8} " + " ".join(f"{t:7.3f}" if t else "      -" for t in row) + f"  {exponent:8.2f}", flush=True)
            rows.append((name, search, row))
    if options.svg:
        draw(options.svg, rows, options.sizes)


if __name__ == "__main__":
    main()
