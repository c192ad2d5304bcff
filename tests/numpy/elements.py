"""Element types of tile IR as NumPy dtypes, and inputs that cover them."""
import ml_dtypes
import numpy as np

DTYPES = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["f16", "bf16", "f32", "f64"]
FP8 = ["f8e4m3", "f8e5m2"]
NUMBERS = INTEGERS + FLOATS


def bits(element):
    return 1 if element == "i1" else DTYPES[element].itemsize * 8


def words(a):
    """The bits of an array as unsigned integers."""
    return a.view(np.dtype(f"u{a.dtype.itemsize}"))


def covering(element, random, count=65536):
    """Every value of 8- and 16-bit types; of wider ones random bits, random exponents, small numbers and the ends of ranges."""
    dtype = DTYPES[element]
    if element == "i1":
        return np.tile([False, True], count // 2)
    width = bits(element)
    unsigned = np.dtype(f"u{width // 8}")
    if width <= 16:
        return np.resize(np.arange(1 << width, dtype=np.uint32).astype(unsigned), count).view(dtype)
    parts = [random.integers(0, 1 << width, count // 2, dtype=unsigned).view(dtype)]
    if element in FLOATS:
        info = np.finfo(dtype)
        exponents = random.uniform(-70, 70, count // 4)
        parts.append((random.choice([-1, 1], count // 4) * np.exp2(exponents)).astype(dtype))
        halves = (random.integers(-1000, 1000, count // 8) / 2).astype(dtype)
        edges = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal, 1, -1]
        edges += [sign * (2.0**k + d) for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, -0.5, 0, 0.5, 1) for sign in (-1, 1)]
        # Where 16- and 8-bit formats round: their numbers, the middles between them, and a little to either side of those.
        for small in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
            size = np.dtype(small).itemsize
            with np.errstate(all="ignore"):
                codes = np.arange(1 << (8 * size), dtype=np.uint32).astype(f"u{size}").view(small).astype(np.float64)
            finite = np.sort(codes[np.isfinite(codes)])
            middles = (finite[1:] + finite[:-1]) / 2
            pick = random.choice(middles, min(len(middles), count // 64), replace=False).astype(dtype)
            parts += [pick, np.nextafter(pick, dtype.type(np.inf)), np.nextafter(pick, dtype.type(-np.inf))]
        parts += [halves, np.array(edges).astype(dtype)]
    else:
        info = np.iinfo(dtype)
        parts.append((random.integers(0, 1 << width, count // 4, dtype=unsigned) >> random.integers(0, width, count // 4).astype(unsigned)).view(dtype))
        parts.append(random.integers(0, 200, count // 8).astype(dtype) - dtype.type(100 if element in SIGNED else 0))
        parts.append(np.array([0, 1, 2, info.max, info.max - 1, info.min, info.min + 1], dtype=dtype))
        # Around the integers where floats begin to round.
        near = [(1 << k) + d for k in (11, 24, 53, 62) if k < width - 1 for d in range(-3, 4)]
        parts.append(np.array(near, dtype=dtype))
    joined = np.concatenate(parts)
    return np.resize(joined, (len(joined) + count - 1) // count * count)


def ordinary(element, random, shape):
    """Random values without NaN or infinity, of moderate size."""
    dtype = DTYPES[element]
    if element == "i1":
        return random.integers(0, 2, shape).astype(np.bool_)
    if element in INTEGERS:
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return random.normal(0, 2, shape).astype(dtype)
