#!/usr/bin/env python3
"""Where the coefficients of exact_math.h come from.

Each function is reduced to a short interval and written there as

    base(x) + sum_k c_k * term_k(x),      k = first, first + 1, ...

with `base` exact. The c_k make the relative error small over the whole interval: a least-squares fit
at Chebyshev nodes, weighted by 1 / |function|, comes within a factor of about two of the best
polynomial (the minimax one), and what is left lies far below one rounding. Coefficients are
rounded to float32 one by one, the most important first, and the rest is fitted again each time, so
that later coefficients absorb the rounding of earlier ones.

    pip install numpy mpmath
    python3 fit_exact_math.py            prints C++ arrays and the error left by each polynomial
"""
import mpmath
import numpy as np

mpmath.mp.prec = 120


def fit(function, base, powers, interval, nodes=400):
    """Returns float32 coefficients of x**p for p in powers, and the relative error in 2^-24."""
    low, high = interval
    angles = (np.arange(nodes) + 0.5) * np.pi / nodes
    x = (high + low) / 2 + (high - low) / 2 * np.cos(angles)
    exact = [function(mpmath.mpf(float(v))) for v in x]
    # What the polynomial has to supply, computed in 120 bits before it becomes a double.
    wanted = np.array([float((f - base(mpmath.mpf(float(v)))) / f) for f, v in zip(exact, x)])
    scale = np.array([float(1 / f) for f in exact])
    columns = np.array([scale * x**p for p in powers]).T

    fixed = []
    for index in range(len(powers)):
        rest = wanted - sum(c * columns[:, i] for i, c in enumerate(fixed))
        unit = np.abs(columns[:, index:]).max(axis=0)  # keeps the system well conditioned
        solution = np.linalg.lstsq(columns[:, index:] / unit, rest, rcond=None)[0] / unit
        fixed.append(float(np.float32(solution[0])))
    left = wanted - columns @ np.array(fixed)
    return fixed, np.abs(left).max() * 2**24


def show(name, coefficients, error):
    print(f"// {name}: the polynomial alone is off by {error:.3f} * 2^-24, relative")
    for c in coefficients:
        print(f"  {float(c).hex()}f,  // {c:.9g}")


def main():
    one = mpmath.mpf(1)
    # 2^f on [-1/2, 1/2], constant term exactly 1.
    show("exp2", *fit(lambda f: mpmath.mpf(2) ** f, lambda f: one, range(1, 7), (-0.5, 0.5)))

    # log2(1 + f) on [sqrt(1/2) - 1, sqrt(2) - 1], with the leading coefficient log2(e) in two parts.
    log2e_high = mpmath.mpf(float(np.float32(float(1 / mpmath.log(2)))))
    log2e_low = np.float32(float(1 / mpmath.log(2) - log2e_high))
    show("log2(e), high and low part", [float(log2e_high), float(log2e_low)], 0)
    low = mpmath.mpf(float(log2e_low))
    show("log2", *fit(lambda f: mpmath.log(1 + f, 2), lambda f: (log2e_high + low) * f,
                      range(2, 11), (2**-0.5 - 1, 2**0.5 - 1)))

    # ln(2) in two parts.
    ln2_high = mpmath.mpf(float(np.float32(float(mpmath.log(2)))))
    show("ln(2), high and low part",
         [float(ln2_high), float(np.float32(float(mpmath.log(2) - ln2_high)))], 0)

    # tanh(x) = x + x * z * P(z) with z = x^2, for |x| <= 0.625.
    show("tanh", *fit(mpmath.tanh, lambda x: x, range(3, 12, 2), (1e-3, 0.625)))


if __name__ == "__main__":
    main()
