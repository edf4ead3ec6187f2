#!/usr/bin/env python3
"""Golden tables of the small float formats, from implementations that are not pagelab's.

Decoding: numpy's float16, and ml_dtypes' bfloat16, float8_e4m3fn and float8_e5m2.
Rounding: exact rational arithmetic (round to the nearest code, ties to the even one), over the codes
that those libraries decode. Where a library rounds in one step as well, it has to agree.

    pip install numpy ml_dtypes
    python3 make_float_format_tables.py          writes the tables beside this script

Files:
    decode_fp8.txt        code, e4m3fn as float32 bits, e5m2 as float32 bits; all 256 codes
    decode_16bit.txt      high byte, hash of fp16 and of bf16 over the 256 codes with it
                          (tests/support/bit_hash.h over (code, float32 bits)); all 65536 codes
    round_<format>.txt    float64 bits, code
NaN codes decode to 0x7fffffff, and every NaN rounds to the code that the GPU writes: 0x7fff or 0x7f.
fp8 saturates (448 and 57344, infinities too), which ml_dtypes does not.
"""
import pathlib
import random
from fractions import Fraction

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
VERSIONS = f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
FORMATS = {
    # name: (numpy type, integer type, NaN code, saturates)
    "float16": (np.float16, np.uint16, 0x7FFF, False),
    "bfloat16": (ml_dtypes.bfloat16, np.uint16, 0x7FFF, False),
    "fp8_e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 0x7F, True),
    "fp8_e5m2": (ml_dtypes.float8_e5m2, np.uint8, 0x7F, True),
}


def decode_all(name):
    """The float32 bits of every code."""
    kind, integer, _, _ = FORMATS[name]
    codes = np.arange(np.iinfo(integer).max + 1).astype(integer)
    values = codes.view(kind).astype(np.float32)
    bits = values.view(np.uint32).copy()
    bits[np.isnan(values)] = 0x7FFFFFFF
    return values, bits


def mix64(word):
    mask = (1 << 64) - 1
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


class Rounder:
    """Rounds an exact number to a format, by looking for the two codes around it."""

    def __init__(self, name):
        values, _ = decode_all(name)
        _, integer, self.nan, self.saturates = FORMATS[name]
        self.sign = 1 << (np.iinfo(integer).bits - 1)
        positive = values[: self.sign]
        self.largest = max(c for c in range(self.sign) if np.isfinite(positive[c]))
        self.values = [Fraction(float(positive[c])) for c in range(self.largest + 1)]
        # The value that the code after the largest would have: half way to it, overflow begins.
        self.values.append(2 * self.values[-1] - self.values[-2])

    def code(self, x):
        if np.isnan(x):
            return self.nan
        sign = self.sign if np.signbit(x) else 0
        overflow = self.largest if self.saturates else self.largest + 1
        if np.isinf(x):
            return sign | overflow
        exact = abs(Fraction(float(x)))
        if exact >= self.values[-1]:
            return sign | overflow
        below = last_not_above(self.values, exact)
        code = below
        if below + 1 < len(self.values):
            middle = (self.values[below] + self.values[below + 1]) / 2
            if exact > middle or (exact == middle and below % 2 == 1):
                code = below + 1
        return sign | min(code, overflow)


def last_not_above(values, x):
    """Index of the last value that is not above x."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if values[middle] <= x:
            low = middle
        else:
            high = middle - 1
    return low


def hard_values(rounder, rng):
    """Codes' values, the middles between neighbours, and what lies a hair beside them."""
    codes = set(range(min(130, rounder.largest + 1)))
    codes |= {rounder.largest - i for i in range(3)} | {0x3F7F, 0x3F80, 0x3C00, 0x3BFF, 0x3FF, 0x400}
    codes |= {rng.randrange(rounder.largest + 1) for _ in range(150)}
    numbers = []
    for code in sorted(c for c in codes if 0 <= c <= rounder.largest):
        value = float(rounder.values[code])
        middle = float((rounder.values[code] + rounder.values[code + 1]) / 2)
        around = [value, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
        # Beside the middle by less than float32 can hold: rounding to float32 first gives the tie.
        around += [middle * (1 + 2.0**-30), middle * (1 - 2.0**-30)]
        numbers += [x if rng.random() < 0.6 else -x for x in map(float, around)]
    numbers += [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e308, -1e308, np.inf, -np.inf]
    # Trap R11, and section 8 of the variants.
    numbers += [448.0, 464.0, 465.0, 1000.0, -1000.0, 0.1, 0.3, 17.0, 19.0, 500.0, 1e5]
    numbers += [2.0**-10, 1.5 * 2.0**-10]
    numbers += [float(np.float32(rng.gauss(0, 1) * 2.0 ** rng.randint(-20, 18))) for _ in range(100)]
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], dtype=np.uint64)
    return numbers, nans


def agrees_with_library(name, x, code):
    """Whether the library's own cast, where it rounds once and does not saturate, gives the code."""
    kind, integer, _, saturates = FORMATS[name]
    with np.errstate(all="ignore"):
        single_step = name == "float16" or np.float64(np.float32(x)) == x
        if not single_step or np.isnan(x):
            return True
        theirs = np.array([x], dtype=np.float64 if name == "float16" else np.float32).astype(kind)
    if saturates and not np.isfinite(theirs.astype(np.float32)[0]):
        return True
    return int(theirs.view(integer)[0]) == code


def write(name, text):
    (HERE / name).write_text(text)


def main():
    _, e4m3 = decode_all("fp8_e4m3")
    _, e5m2 = decode_all("fp8_e5m2")
    lines = [f"# code, e4m3fn and e5m2 as float32 bits; {VERSIONS}, make_float_format_tables.py"]
    lines += [f"{c:02x} {e4m3[c]:08x} {e5m2[c]:08x}" for c in range(256)]
    write("decode_fp8.txt", "\n".join(lines) + "\n")

    lines = [f"# high byte, hashes over its 256 codes: fp16, bf16; {VERSIONS}, make_float_format_tables.py"]
    _, half = decode_all("float16")
    _, brain = decode_all("bfloat16")
    for high in range(256):
        hashes = [
            sum(mix64((c << 32) | int(table[c])) for c in range(high * 256, high * 256 + 256)) % 2**64
            for table in (half, brain)
        ]
        lines.append(f"{high:02x} {hashes[0]:016x} {hashes[1]:016x}")
    write("decode_16bit.txt", "\n".join(lines) + "\n")

    for name in FORMATS:
        rounder = Rounder(name)
        numbers, nans = hard_values(rounder, random.Random(20240))
        digits = 4 if FORMATS[name][1] == np.uint16 else 2
        lines = [f"# float64 bits, {name} code; {VERSIONS}, make_float_format_tables.py"]
        for x in numbers:
            code = rounder.code(x)
            assert agrees_with_library(name, x, code), (name, x, code)
            lines.append(f"{int(np.float64(x).view(np.uint64)):016x} {code:0{digits}x}")
        lines += [f"{int(n):016x} {rounder.nan:0{digits}x}" for n in nans]
        write(f"round_{name}.txt", "\n".join(lines) + "\n")
        print(name, len(lines) - 1, "values")


if __name__ == "__main__":
    main()
