"""The floating-point formats of a step folder, from their definitions: which numbers they hold, and their bits.

NumPy has float64, float32 and float16 itself; bfloat16 travels as uint16 and fp8 as uint8.
"""

import numpy as np

NUMPY_FORMATS = ("float64", "float32", "float16")

# Bits of exponent and of mantissa; the sign has one more.
PATTERNS = {
    "float64": (11, 52, np.uint64),
    "float32": (8, 23, np.uint32),
    "float16": (5, 10, np.uint16),
    "bfloat16": (8, 7, np.uint16),
    "fp8_e4m3": (4, 3, np.uint8),
    "fp8_e5m2": (5, 2, np.uint8),
}


def is_fp8(dtype):
    return dtype.startswith("fp8")


def fp8_numbers(dtype):
    """The finite numbers from 0 up; a number's place in this array is its code."""
    exponent_bits, mantissa_bits, _ = PATTERNS[dtype]
    # e4m3 gives up one code, 0x7f, for NaN; e5m2 a whole exponent, for infinity and NaN.
    codes = np.arange(0x7F if dtype == "fp8_e4m3" else 0x7C)
    exponent = codes >> mantissa_bits
    mantissa = codes & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    subnormal = np.ldexp(mantissa, 1 - bias - mantissa_bits)
    normal = np.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)
    return np.where(exponent == 0, subnormal, normal).astype(np.float64)


def fp8_code(values, dtype):
    """Nearest number, the even code where two are as near; what is too large becomes the largest number."""
    numbers = fp8_numbers(dtype)
    magnitude = np.minimum(np.abs(values), numbers[-1])
    above = np.searchsorted(numbers, magnitude)
    below = np.maximum(above - 1, 0)
    to_above, to_below = numbers[above] - magnitude, magnitude - numbers[below]
    takes_above = (to_above < to_below) | ((to_above == to_below) & (above % 2 == 0))
    code = np.where(takes_above, above, below).astype(np.uint8)
    return code | np.where(np.signbit(values), np.uint8(0x80), np.uint8(0))


def bfloat16_bits(values):
    """Rounded once, to nearest even, from float64; finite numbers of float32's range."""
    least_exponent, digits = -126, 8
    exponent = np.maximum(np.frexp(values)[1] - 1, least_exponent)
    steps = np.rint(np.ldexp(values, digits - 1 - exponent))
    return (np.ldexp(steps, exponent - digits + 1).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def stored(values, dtype):
    """float64 numbers as a .npy file of this format holds them."""
    if dtype in NUMPY_FORMATS:
        return values.astype(dtype)
    return bfloat16_bits(values) if dtype == "bfloat16" else fp8_code(values, dtype)


def numbers_of(array, dtype):
    """The float64 numbers that a .npy file of this format stands for."""
    if dtype in NUMPY_FORMATS:
        return array.astype(np.float64)
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    numbers = np.full(128, np.nan)
    finite = fp8_numbers(dtype)
    numbers[: len(finite)] = finite
    if dtype == "fp8_e5m2":
        numbers[0x7C] = np.inf
    return np.where(array & 0x80, -1.0, 1.0) * numbers[array & 0x7F]


def not_a_number(rng, shape, dtype):
    """What no finite number is: NaN of many patterns, signalling ones too, and infinity where there is one."""
    exponent_bits, mantissa_bits, unsigned = PATTERNS[dtype]
    mantissa = rng.integers(0, 1 << mantissa_bits, shape, dtype=np.uint64)
    if dtype == "fp8_e4m3":
        mantissa = np.full(shape, 7, np.uint64)
    exponent = np.uint64(((1 << exponent_bits) - 1) << mantissa_bits)
    sign = rng.integers(0, 2, shape, dtype=np.uint64) << np.uint64(exponent_bits + mantissa_bits)
    bits = (sign | exponent | mantissa).astype(unsigned)
    return bits.view(dtype) if dtype in NUMPY_FORMATS else bits
