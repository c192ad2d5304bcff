"""What NumPy and ml_dtypes say that ops give, and the places where Tilewright deliberately says something else."""
import numpy as np

from elements import DTYPES, FLOATS, FP8, INTEGERS, SIGNED, bits

# Why results differ from NumPy's, by name. README.md says the same in full sentences; oracle.py prints how often each occurs.
DIFFERENCES = {
    "saturates": "float to integer: out of range gives the nearest end, NaN gives 0; NumPy leaves it undefined",
    "rounds once": "64-bit values to 16- and 8-bit floats round once; NumPy and ml_dtypes go through f32 or f64 and round twice",
    "truncates": "integer / and % round towards zero as in C++; NumPy rounds down",
    "division by zero": "x / 0 is all ones (-1) and x % 0 is x, least / -1 is least; NumPy gives 0 and warns",
    "shift width": "a shift by the width or more gives 0 or the sign; NumPy leaves it undefined",
    "zero sign": "-0 is below +0 for min and max; NumPy takes whichever comes first",
}


def _table(element):
    """The finite values of a small float in order, then the first one that is too large, as float64, with whether each code is even."""
    dtype = DTYPES[element]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    codes = np.arange(1 << (8 * dtype.itemsize - 1), dtype=np.uint32)  # the positive ones, in order of value
    values = codes.astype(unsigned).view(dtype).astype(np.float64)
    finite = np.isfinite(values)
    values = values[finite]
    step = values[-1] - values[-2]
    return np.append(values, values[-1] + step), values[-1]


def to_small_float(x, element):
    """float64 (or integers, exactly) to f16, bf16, f8e4m3 or f8e5m2 with one rounding to nearest even, by looking it up."""
    dtype = DTYPES[element]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    table, greatest = _table(element)
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        # 53 bits and whether anything was cut off: rounding that to far fewer bits is rounding x.
        magnitude = np.where(x < 0, (~x.astype(np.uint64)) + np.uint64(1), x.astype(np.uint64))
        cut = magnitude >> np.uint64(11) | (magnitude & np.uint64(2047) != 0).astype(np.uint64)
        magnitude = np.where(magnitude >> np.uint64(53) != 0, cut.astype(np.float64) * 2048, magnitude.astype(np.float64))
        negative, nan = x < 0, np.zeros(x.shape, bool)
    else:
        wide = x.astype(np.float64)
        magnitude, negative, nan = np.abs(wide), np.signbit(wide), np.isnan(wide)
    above = np.clip(np.searchsorted(table, np.where(nan, 0, magnitude), side="left"), 1, len(table) - 1)
    low, high = table[above - 1], table[above]
    exact_low = magnitude <= low
    to_low = (magnitude - low < high - magnitude) | ((magnitude - low == high - magnitude) & ((above - 1) % 2 == 0))
    code = np.where(exact_low | to_low, above - 1, above)
    code = np.where(magnitude >= table[-1], len(table) - 1, code)
    result = code.astype(unsigned).view(dtype).copy()
    too_large = code == len(table) - 1
    special = np.array(np.nan if element == "f8e4m3" else np.inf).astype(dtype)
    result[too_large] = special
    out = np.where(negative, np.negative(result), result).astype(dtype)
    out[nan] = np.array(np.nan).astype(dtype)
    return out


def cast(x, source, target):
    """(expected, what NumPy says, name of the difference)."""
    to = DTYPES[target]
    with np.errstate(all="ignore"):
        theirs = x.astype(to)
        if target == "i1":
            return x != np.zeros((), x.dtype), theirs, ""
        if target in INTEGERS and source in FLOATS + FP8:
            info = np.iinfo(to)
            wide = np.trunc(x.astype(np.float64))
            inside = (wide >= float(info.min)) & (wide < -float(info.min) if target in SIGNED else wide < 2.0 ** bits(target))
            ours = np.where(inside, wide, 0).astype(to)
            ours = np.where(wide < float(info.min), to.type(info.min), ours)
            top = 2.0 ** (bits(target) - (1 if target in SIGNED else 0))
            ours = np.where(wide >= top, to.type(info.max), ours)
            return np.where(np.isnan(wide), to.type(0), ours), theirs, "saturates"
        if target in FP8 + ["f16", "bf16"] and source != target:
            return to_small_float(x if source != "i1" else x.astype(np.int32), target), theirs, "rounds once"
    return theirs, theirs, ""


def divide(a, b):
    with np.errstate(all="ignore"):
        theirs = a // b
        magnitude = theirs + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)
        ours = np.where(b == 0, np.array(-1).astype(a.dtype) if a.dtype.kind == "i" else np.iinfo(a.dtype).max, magnitude)
        if a.dtype.kind == "i":
            ours = np.where((b == -1), np.negative(a), ours)
    return ours.astype(a.dtype), theirs


def remainder(a, b):
    with np.errstate(all="ignore"):
        theirs = a % b
        quotient, _ = divide(a, b)
        ours = np.where(b == 0, a, (a - quotient * b).astype(a.dtype))
    return ours.astype(a.dtype), theirs


def shift(a, b, left):
    width = a.dtype.itemsize * 8
    amount = b.view(np.dtype(f"u{b.dtype.itemsize}"))  # taken as unsigned
    large = amount >= width
    safe = np.where(large, 0, amount).astype(a.dtype)
    with np.errstate(all="ignore"):
        if left:
            return np.where(large, a.dtype.type(0), a << safe).astype(a.dtype), a << b
        fill = np.where(a < 0, a.dtype.type(-1) if a.dtype.kind == "i" else a.dtype.type(0), a.dtype.type(0))
        return np.where(large, fill, a >> safe).astype(a.dtype), a >> b


def extreme(a, b, greater, number_wins):
    """min and max with -0 below +0."""
    with np.errstate(all="ignore"):
        pick = {(True, False): np.maximum, (False, False): np.minimum, (True, True): np.fmax, (False, True): np.fmin}[greater, number_wins]
        theirs = pick(a, b)
        if a.dtype.kind in "iu":
            return theirs, theirs
        zeros = (a == 0) & (b == 0)
        negative = (np.signbit(a) & np.signbit(b)) if greater else (np.signbit(a) | np.signbit(b))
        zero = np.where(negative, np.array(-0.0).astype(a.dtype), np.array(0.0).astype(a.dtype))
        return np.where(zeros, zero, theirs).astype(a.dtype), theirs


def sort_order(keys, descending):
    """Stable order along the last axis, NaN last either way."""
    if not descending:
        return np.argsort(keys, axis=-1, kind="stable")
    # Ranks of equal keys are equal, so that negating them keeps the order of equals.
    ranks = np.empty(keys.shape, np.int64)
    is_float = keys.dtype.kind not in "iu"
    with np.errstate(all="ignore"):
        values = keys.astype(np.float64) if is_float else keys
    for row in np.ndindex(keys.shape[:-1]):
        _, inverse = np.unique(values[row], return_inverse=True, equal_nan=True)
        ranks[row] = -inverse
        if is_float:
            ranks[row][np.isnan(values[row])] = 1
    return np.argsort(ranks, axis=-1, kind="stable")
