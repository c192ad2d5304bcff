"""NumPy and ml_dtypes as a second, independent oracle of tile IR: casts between all pairs of elements, integer arithmetic, NaN rules,
reductions, scans, sorts, gathers, histograms, products. Usage: oracle.py TILEWRIGHT [--device D ...] [--only SUBSTRING] [--self-test]"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

import kernels
import reference
from elements import DTYPES, FLOATS, FP8, INTEGERS, NUMBERS, SIGNED, UNSIGNED, bits, covering, ordinary, words


class Oracle:
    def __init__(self, program, devices, only, self_test=False):
        self.program, self.devices, self.only, self.self_test = program, devices, only, self_test
        self.folder = tempfile.TemporaryDirectory()
        self.random = np.random.default_rng(20261122)
        self.cases = self.failures = 0
        self.compared = 0
        self.differences = collections.Counter()

    def launch(self, text, inputs, outputs, grid, device):
        """outputs: (element, shape). The arrays that the kernel writes, which hold poison before."""
        where = pathlib.Path(self.folder.name)
        (where / "k.tile").write_text(text)
        command = [self.program, "run", str(where / "k.tile"), "--device", device, "--grid", str(grid)]
        for i, x in enumerate(inputs):
            np.save(where / f"x{i}.npy", np.ascontiguousarray(x))
            command += ["--arg", f"x{i}={where}/x{i}.npy"]
        names = ["y"] if "%y:" in text else [f"y{i}" for i in range(len(outputs))]
        for name, (element, shape) in zip(names, outputs):
            poison = np.full(int(np.prod(shape)) * DTYPES[element].itemsize, 0 if element == "i1" else 0xA5, np.uint8)
            np.save(where / f"{name}_in.npy", poison.view(DTYPES[element]).reshape(shape))
            command += ["--arg", f"{name}={where}/{name}_in.npy", "--out", f"{name}={where}/{name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}\n{text}")
        return [np.load(where / f"{name}.npy").view(DTYPES[element]).reshape(shape) for name, (element, shape) in zip(names, outputs)]

    def check(self, name, text, inputs, outputs, expected, grid=1, same=None, theirs=None, difference=""):
        """same(got, expected) -> mask; by default equal bits, any NaN for any NaN."""
        if self.only and self.only not in name:
            return
        if self.self_test:
            expected = [spoiled(np.asarray(e)) for e in expected]
        for device in self.devices:
            self.cases += 1
            got = self.launch(text, inputs, outputs, grid, device)
            for g, e in zip(got, expected):
                good = (same or equal)(g, np.asarray(e))
                self.compared += g.size
                if self.self_test:
                    if np.all(good):
                        self.failures += 1
                        print(f"FAILED {name} on {device}: does not see a result of the other sign")
                    continue
                if not np.all(good):
                    self.failures += 1
                    at = np.flatnonzero(~np.broadcast_to(good, g.shape).ravel())[:4]
                    seen = [[str(x.ravel()[i]) if x.size == g.size else "..." for x in inputs] for i in at]
                    print(f"FAILED {name} on {device}: {np.count_nonzero(~good)} of {g.size}; inputs {seen}, got "
                          f"{[str(g.ravel()[i]) for i in at]}, expected {[str(np.asarray(e).ravel()[i]) for i in at]}")
            if theirs is not None and not self.self_test and device == self.devices[0]:
                differ = ~equal(np.asarray(theirs), np.asarray(expected[0]))
                if np.any(differ):
                    self.differences[difference] += int(np.count_nonzero(differ))
                    if difference not in reference.DIFFERENCES:
                        self.failures += 1
                        print(f"FAILED {name}: differs from NumPy in {np.count_nonzero(differ)} elements, which no reason covers")


def spoiled(expected):
    """The same with the top bit of one element the other way round, where that is another value."""
    out = np.ascontiguousarray(expected).copy()
    flat = out.reshape(-1)
    if out.dtype == np.bool_:
        flat[0] = not flat[0]
        return out
    with np.errstate(all="ignore"):
        at = np.flatnonzero((flat != np.zeros(1, flat.dtype)) & ~is_nan(flat))
    if len(at) == 0:  # all zero, or NaN
        flat[0] = np.ones(1, flat.dtype)[0]
        return out
    u = words(flat)
    u[at[0]] ^= np.array(1 << (8 * out.dtype.itemsize - 1), u.dtype)
    return out


def is_nan(x):
    if x.dtype.kind in "biu":
        return np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        return np.isnan(x.astype(np.float64))


def equal(got, expected):
    if got.dtype != expected.dtype:
        raise TypeError(f"{got.dtype} and {expected.dtype}")
    return (words(np.ascontiguousarray(got)) == words(np.ascontiguousarray(expected))) | (is_nan(got) & is_nan(expected))


def within(relative):
    def same(got, expected):
        g, e = got.astype(np.float64), expected.astype(np.float64)
        with np.errstate(all="ignore"):
            return (g == e) | (np.isnan(g) & np.isnan(e)) | (np.abs(g - e) <= relative * np.abs(e))
    return same


def casts(o):
    for source in DTYPES:
        x = covering(source, o.random)
        for target in DTYPES:
            expected, theirs, difference = reference.cast(x, source, target)
            o.check(f"cast {source} {target}", kernels.elementwise("cast", [source], target), [x], [(target, x.shape)], [expected],
                    grid=len(x) // kernels.BLOCK, theirs=theirs, difference=difference)


def pairs(element, o):
    x = covering(element, o.random)
    y = o.random.permutation(x)
    return x, y


def integers(o):
    for element in INTEGERS:
        x, y = pairs(element, o)
        grid = len(x) // kernels.BLOCK
        amounts = np.where(o.random.random(len(x)) < 0.9, o.random.integers(0, bits(element) + 2, len(x)).astype(x.dtype), y).astype(x.dtype)

        def binary(op, a, b, expected, theirs=None, difference="", output=element):
            o.check(f"{op} {element}", kernels.elementwise(op, [element, element], output), [a, b], [(output, a.shape)], [expected], grid=grid,
                    theirs=theirs, difference=difference)

        with np.errstate(all="ignore"):
            for op, f in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("bit_and", np.bitwise_and), ("bit_or", np.bitwise_or),
                          ("bit_xor", np.bitwise_xor), ("minimum", np.minimum), ("maximum", np.maximum)]:
                binary(op, x, y, f(x, y), f(x, y))
            for op, f in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)]:
                binary(op, x, y, f(x, y), f(x, y), output="i1")
        ours, theirs = reference.divide(x, y)
        binary("div", x, y, ours, np.where(y == 0, ours, theirs), "truncates")
        ours, theirs = reference.remainder(x, y)
        binary("rem", x, y, ours, np.where(y == 0, ours, theirs), "truncates")
        zero = np.zeros_like(y)
        binary("div", x, zero, *reference.divide(x, zero), "division by zero")
        binary("rem", x, zero, *reference.remainder(x, zero), "division by zero")
        binary("shl", x, amounts, reference.shift(x, amounts, True)[0])
        binary("shr", x, amounts, reference.shift(x, amounts, False)[0])
        if element in UNSIGNED and bits(element) <= 32:
            wide = x.astype(np.uint64) * y.astype(np.uint64) >> np.uint64(bits(element))
            binary("umulhi", x, y, wide.astype(x.dtype))

        def unary(op, expected, output=element):
            o.check(f"{op} {element}", kernels.elementwise(op, [element], output), [x], [(output, x.shape)], [expected], grid=grid)

        with np.errstate(all="ignore"):
            unary("neg", np.negative(x))
            unary("abs", np.abs(x))
            unary("bit_not", np.invert(x))
        u = words(x)
        unary("popcount", np.bitwise_count(u).astype(np.int32), "i32")
        lengths = np.zeros(len(x), np.int32)
        for b in range(bits(element)):
            lengths[u >> np.array(b, u.dtype) & np.array(1, u.dtype) != 0] = b + 1
        unary("clz", bits(element) - lengths, "i32")
        lowest = np.zeros(len(x), np.int32)
        for b in reversed(range(bits(element))):
            lowest[u >> np.array(b, u.dtype) & np.array(1, u.dtype) != 0] = b + 1
        unary("ffs", lowest, "i32")


def floats(o):
    for element in FLOATS:
        x, y = pairs(element, o)
        grid, dtype = len(x) // kernels.BLOCK, x.dtype

        def run(op, operands, expected, output=element, same=None, theirs=None, difference=""):
            o.check(f"{op} {element}", kernels.elementwise(op, [element] * len(operands), output), operands, [(output, x.shape)], [expected], grid=grid,
                    same=same, theirs=theirs, difference=difference)

        with np.errstate(all="ignore"):
            for op, f in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div_rn", np.divide)]:
                run(op, [x, y], f(x, y).astype(dtype))
            for op, f in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)]:
                run(op, [x, y], f(x, y), "i1")
            for op, f in [("neg", np.negative), ("abs", np.abs), ("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc), ("rint", np.rint)]:
                run(op, [x], f(x).astype(dtype))
            wide = x.astype(np.longdouble)
            half_away = np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(dtype)
            run("round", [x], half_away)
            run("copysign", [x, y], np.where(np.signbit(y), -np.abs(x), np.abs(x)).astype(dtype))
            run("isnan", [x], np.isnan(x), "i1")
            run("isinf", [x], np.isinf(x), "i1")
            for op, greater, number_wins in [("maximum", True, False), ("minimum", False, False), ("fmax", True, True), ("fmin", False, True)]:
                ours, theirs = reference.extreme(x, y, greater, number_wins)
                run(op, [x, y], ours, theirs=theirs, difference="zero sign")
            # Accuracy as passes/ACCURACY.md promises; results below the normal numbers may be flushed.
            if element in ("f32", "f64"):
                ulp = float(np.finfo(dtype).eps)
                for op, f, most in [("exp", np.exp, 4), ("exp2", np.exp2, 4), ("log", np.log, 4), ("log2", np.log2, 4), ("tanh", np.tanh, 4),
                                    ("sqrt", np.sqrt, 1), ("rsqrt", lambda v: 1 / np.sqrt(v), 4)]:
                    expected = f(wide).astype(dtype)
                    tiny = float(np.finfo(dtype).tiny)

                    def same(g, e, most=most):
                        close = within(most * ulp)(g, e)
                        return close | ((np.abs(e.astype(np.float64)) < tiny) & (np.abs(g.astype(np.float64)) <= tiny))
                    inputs = np.where(np.abs(x) < tiny, dtype.type(0), x).astype(dtype)  # subnormal arguments may be flushed
                    expected = f(inputs.astype(np.longdouble)).astype(dtype)
                    run(op, [inputs], expected, same=same)


def reductions(o):
    shape = (8, 256)
    for element in NUMBERS:
        x = ordinary(element, o.random, shape)
        special = x.copy()
        if element in FLOATS:
            special[1, 7] = special[3, 100] = np.nan
            special[2, :] = 0.0
            special[2, 5] = -0.0
        accumulator = "f32" if element in ("f16", "bf16") else element
        for axis in (0, 1):
            out = (shape[1 - axis],)

            def body(op, cast=False, element=element, axis=axis, out=out):
                inner = accumulator if cast else element

                def lines(names):
                    source, result = names[0], []
                    if inner != element:
                        result.append(f"  %wide = cast {source} : {kernels.text(inner, shape)}")
                        source = "%wide"
                    result += [f"  %red = reduce {source} {{axis = {axis}, commutative}} : {kernels.text(inner, out)} (%e: {inner}, %l: {inner}) {{",
                               f"    %c = {op} %e, %l : {inner}", "    yield %c", "  }"]
                    result.append(f"  %r0 = cast %red : {kernels.text(element, out)}" if inner != element
                                  else f"  %r0 = reshape %red : {kernels.text(element, out)}")
                    return result
                return lines

            def run(op, values, expected, same=None, cast=False):
                o.check(f"reduce {op} {element} axis {axis}", kernels.whole_tile([(element, shape)], [(element, out)], body(op, cast)), [values],
                        [(element, out)], [expected], same=same)

            with np.errstate(all="ignore"):
                if element in INTEGERS:
                    run("add", x, np.add.reduce(x, axis, dtype=x.dtype))
                    run("mul", x | 1, np.multiply.reduce(x | 1, axis, dtype=x.dtype))
                    run("bit_xor", x, np.bitwise_xor.reduce(x, axis))
                    run("bit_and", x, np.bitwise_and.reduce(x, axis))
                    run("bit_or", x, np.bitwise_or.reduce(x, axis))
                else:
                    positive = np.abs(x)
                    eps = float(ml_dtypes.finfo(x.dtype).eps)
                    run("add", positive, positive.astype(np.longdouble).sum(axis).astype(x.dtype), within(eps if accumulator != element else 256 * eps), True)
                run("maximum", special, np.maximum.reduce(special, axis).astype(x.dtype), same=within(0))
                run("minimum", special, np.minimum.reduce(special, axis).astype(x.dtype), same=within(0))


def scans(o):
    shape = (8, 256)
    for element in NUMBERS:
        x = ordinary(element, o.random, shape)
        small = (np.abs(x) if element in UNSIGNED + FLOATS else x) if element not in ("f16", "bf16") else (x / x.dtype.type(16)).astype(x.dtype)
        for axis in (0, 1):
            for reverse in (False, True):
                turned = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)

                def body(op, element=element, axis=axis, reverse=reverse):
                    return lambda names: [
                        f"  %r0 = scan {names[0]} {{axis = {axis}{', reverse' if reverse else ''}}} : {kernels.text(element, shape)} (%e: {element}, %l: {element}) {{",
                        f"    %c = {op} %e, %l : {element}", "    yield %c", "  }"]

                for op, f in [("add", np.add), ("maximum", np.maximum), ("minimum", np.minimum)]:
                    values = small if op == "add" else x
                    with np.errstate(all="ignore"):
                        expected = turned(f.accumulate(turned(values), axis, dtype=values.dtype))
                    # Strictly in order, as NumPy's own accumulate: equal bits for floats too.
                    o.check(f"scan {op} {element} axis {axis}{' reverse' if reverse else ''}",
                            kernels.whole_tile([(element, shape)], [(element, shape)], body(op)), [values], [(element, shape)],
                            [np.ascontiguousarray(expected).astype(x.dtype)])


def sorts(o):
    shape = (4, 512)
    for element in NUMBERS:
        x = covering(element, o.random, 4096)[: 4 * 512].reshape(shape).copy()
        x[0] = x[0][0]
        x[1] = o.random.choice(x[1][:7], 512)
        index = np.broadcast_to(np.arange(512, dtype=np.int32), shape)
        for descending in (False, True):
            order = reference.sort_order(x, descending)
            attributes = "{descending}" if descending else ""
            body = lambda names, attributes=attributes, element=element: [
                f"  %r0, %r1 = sort {names[0]}, {names[1]} {attributes} : {kernels.text(element, shape)}, {kernels.text('i32', shape)}"]
            o.check(f"sort {element} {attributes}", kernels.whole_tile([(element, shape), ("i32", shape)], [(element, shape), ("i32", shape)], body),
                    [x, index], [(element, shape), ("i32", shape)],
                    [np.take_along_axis(x, order, -1), order.astype(np.int32)])
        top = reference.sort_order(x, True)[:, :16]
        body = lambda names, element=element: [
            f"  %r0, %r1 = sort {names[0]}, {names[1]} {{descending, count = 16}} : {kernels.text(element, (4, 16))}, i32[4, 16]"]
        o.check(f"topk {element}", kernels.whole_tile([(element, shape), ("i32", shape)], [(element, (4, 16)), ("i32", (4, 16))], body),
                [x, index], [(element, (4, 16)), ("i32", (4, 16))], [np.take_along_axis(x, top, -1), top.astype(np.int32)])


def indexing(o):
    shape = (16, 64)
    for element in DTYPES:
        x = covering(element, o.random, 1024)[:1024].reshape(shape)
        for axis, picked in ((0, (32, 64)), (1, (16, 8))):
            for kind in ("i8", "u8", "i32", "i64", "u16"):
                index = o.random.integers(0, shape[axis], picked).astype(DTYPES[kind])
                body = lambda names, axis=axis, element=element, picked=picked: [
                    f"  %r0 = gather {names[0]}, {names[1]} {{axis = {axis}}} : {kernels.text(element, picked)}"]
                o.check(f"gather {element} by {kind} axis {axis}", kernels.whole_tile([(element, shape), (kind, picked)], [(element, picked)], body),
                        [x, index], [(element, picked)], [np.take_along_axis(x, index.astype(np.int64), axis)])
    for element in INTEGERS:
        x = covering(element, o.random, 4096)[:4096]
        x = np.where(o.random.random(4096) < 0.7, o.random.integers(0, 127, 4096).astype(x.dtype), x).astype(x.dtype)
        mask = o.random.random(4096) < 0.5
        inside = [v for v, m in zip(x.tolist(), mask) if m and 0 <= v < 64]
        body = lambda names: [f"  %r0 = histogram {names[0]}, {names[1]} {{bins = 64}} : i32[64]"]
        o.check(f"histogram {element}", kernels.whole_tile([(element, (4096,)), ("i1", (4096,))], [("i32", (64,))], body), [x, mask],
                [("i32", (64,))], [np.bincount(inside, minlength=64).astype(np.int32)])


def products(o):
    for element, out in [("f16", "f32"), ("bf16", "f32"), ("f8e4m3", "f32"), ("f8e5m2", "f32"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32")]:
        a = (o.random.normal(0, 1, (32, 64)).astype(DTYPES[element]) if element not in INTEGERS else ordinary(element, o.random, (32, 64)))
        b = (o.random.normal(0, 1, (64, 16)).astype(DTYPES[element]) if element not in INTEGERS else ordinary(element, o.random, (64, 16)))
        wide = np.int64 if element in INTEGERS else np.longdouble
        expected = (a.astype(np.float64).astype(wide) @ b.astype(np.float64).astype(wide)).astype(DTYPES[out])
        body = lambda names, out=out: [f"  %zero = constant {{value = {'0' if out == 'i32' else '0.0'}}} : {out}[32, 16]",
                                       f"  %r0 = dot {names[0]}, {names[1]}, %zero {{precision = ieee}} : {out}[32, 16]"]

        def same(g, e, out=out):
            if out == "i32":
                return equal(g, e)
            norm = np.linalg.norm(g.astype(np.float64) - e.astype(np.float64)) / np.linalg.norm(e.astype(np.float64))
            return np.full(g.shape, norm < (1e-6 if out == "f32" else 1e-15))
        text = kernels.whole_tile([(element, (32, 64)), (element, (64, 16))], [(out, (32, 16))], body)
        if element in ("f16", "bf16", "f8e4m3", "f8e5m2", "i8"):
            text = text.replace(" {precision = ieee}", "")
        o.check(f"dot {element}", text, [a, b], [(out, (32, 16))], [expected], same=same)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", action="append")
    parser.add_argument("--only", default="", help="only cases whose names hold this")
    parser.add_argument("--self-test", action="store_true", help="spoil each expected result: every case must then fail")
    options = parser.parse_args()
    o = Oracle(os.path.abspath(options.program), options.device or ["interpreter", "cpu", "cpu:x86-64"], options.only, options.self_test)
    start = time.time()
    for family in (casts, integers, floats, reductions, scans, sorts, indexing, products):
        before = o.cases
        family(o)
        if o.cases > before:
            print(f"{family.__name__:<10} {o.cases - before:>5} runs")
    print(f"{o.cases} runs, {o.compared:,} elements compared, {o.failures} failures, {time.time() - start:.0f} s; NumPy {np.__version__}")
    for name, count in sorted(o.differences.items()):
        print(f"  {count:>8} elements differ from NumPy: {reference.DIFFERENCES.get(name, name)}")
    return 1 if o.failures or o.cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
