#!/usr/bin/env python3
"""The naive decode kernel in Numba's CUDA simulator and in pagelab's, on the same machine in one run.

    python3 benchmarks/simulator/against_numba.py build/default/bin/bench_simulator

Needs NumPy and Numba (`pip install numba`). The two take turns, five times each. Prints multiply-adds a second
of both and the ratios: the median of the turns, the least and the greatest. By the clock, which is what somebody
who waits sees; and by the time of the processor, which other programs of a shared machine change less (of a
launch on all cores, that of one).
"""

import json
import os
import statistics
import subprocess
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy  # noqa: E402  (Numba reads the variable when it is imported)
from numba import cuda  # noqa: E402
import math  # noqa: E402

NUM_QUERY_HEADS, NUM_KV_HEADS, HEAD_SIZE, BLOCK_SIZE = 4, 2, 32, 8


# paged_decode/1_naive.cuh without variants: one thread a query row and head, two passes.
@cuda.jit
def naive_decode(query, key_cache, value_cache, block_table, seq_lens, scale, output):
    flat_index = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    head_idx = flat_index % NUM_QUERY_HEADS
    req_idx = flat_index // NUM_QUERY_HEADS
    if req_idx >= query.shape[0]:
        return
    kv_head_idx = head_idx // (NUM_QUERY_HEADS // NUM_KV_HEADS)
    m = -math.inf
    for position in range(seq_lens[req_idx]):
        block = block_table[req_idx, position // BLOCK_SIZE]
        score = 0.0
        for i in range(HEAD_SIZE):
            score += query[req_idx, head_idx, i] * key_cache[
                block, position % BLOCK_SIZE, kv_head_idx, i]
        m = max(m, score * scale)
    l = 0.0
    for d in range(HEAD_SIZE):
        output[req_idx, head_idx, d] = 0.0
    for position in range(seq_lens[req_idx]):
        block = block_table[req_idx, position // BLOCK_SIZE]
        score = 0.0
        for i in range(HEAD_SIZE):
            score += query[req_idx, head_idx, i] * key_cache[
                block, position % BLOCK_SIZE, kv_head_idx, i]
        p = math.exp(score * scale - m)
        l += p
        for d in range(HEAD_SIZE):
            output[req_idx, head_idx, d] += p * value_cache[
                block, position % BLOCK_SIZE, kv_head_idx, d]
    for d in range(HEAD_SIZE):
        output[req_idx, head_idx, d] /= l


def expected(query, key_cache, value_cache, block_table, seq_len, scale):
    """The same in NumPy, so that what is timed is known to be right."""
    output = numpy.zeros_like(query)
    for req_idx in range(query.shape[0]):
        keys = key_cache[block_table[req_idx]].reshape(-1, NUM_KV_HEADS, HEAD_SIZE)[:seq_len]
        values = value_cache[block_table[req_idx]].reshape(-1, NUM_KV_HEADS, HEAD_SIZE)[:seq_len]
        for head_idx in range(NUM_QUERY_HEADS):
            kv_head_idx = head_idx // (NUM_QUERY_HEADS // NUM_KV_HEADS)
            scores = keys[:, kv_head_idx] @ query[req_idx, head_idx] * scale
            p = numpy.exp(scores - scores.max())
            output[req_idx, head_idx] = p @ values[:, kv_head_idx] / p.sum()
    return output


class NumbaDecode:
    """The kernel with its arrays, in Numba's simulator."""

    def __init__(self):
        num_reqs, seq_len = 64, 64
        blocks_per_req = seq_len // BLOCK_SIZE
        random = numpy.random.default_rng(20261129)
        query = random.uniform(-1, 1, (num_reqs, NUM_QUERY_HEADS, HEAD_SIZE)).astype(numpy.float32)
        shape = (num_reqs * blocks_per_req, BLOCK_SIZE, NUM_KV_HEADS, HEAD_SIZE)
        key_cache = random.uniform(-1, 1, shape).astype(numpy.float32)
        value_cache = random.uniform(-1, 1, shape).astype(numpy.float32)
        block_table = random.permutation(shape[0]).astype(numpy.int32).reshape(num_reqs, -1)
        seq_lens = numpy.full(num_reqs, seq_len, numpy.int32)
        scale = 1.0 / math.sqrt(HEAD_SIZE)
        self.output = numpy.empty_like(query)
        self.arguments = (query, key_cache, value_cache, block_table, seq_lens, scale, self.output)
        self.num_ctas = num_reqs * NUM_QUERY_HEADS // 128
        self.multiply_adds = num_reqs * NUM_QUERY_HEADS * seq_len * 3 * HEAD_SIZE
        self.launch()
        right = expected(query, key_cache, value_cache, block_table, seq_len, scale)
        if not numpy.allclose(self.output, right, rtol=1e-4, atol=1e-5):
            sys.exit("Numba's kernel computes something else.")

    def launch(self):
        naive_decode[self.num_ctas, 128](*self.arguments)

    def rates(self):
        """Multiply-adds a second, by the clock and by the processor's time."""
        clock, processor = time.perf_counter(), time.process_time()
        self.launch()
        return (self.multiply_adds / (time.perf_counter() - clock),
                self.multiply_adds / (time.process_time() - processor))


def pagelab_rates(program):
    """The same of each form."""
    command = [program, "--benchmark_filter=naive_decode/.*/requests:64/context:64/",
               "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {row["name"].split("/")[1]:
            (row["multiply_adds/s"], row["multiply_adds/s"] * row["real_time"] / row["cpu_time"])
            for row in report["benchmarks"]}


def print_row(name, rates, ratios=None):
    line = f"{name:<36} {statistics.median(rates) / 1e6:9.3f} million multiply-adds/s"
    if ratios:
        line += (f", {statistics.median(ratios):6.0f} times Numba's "
                 f"({min(ratios):.0f} to {max(ratios):.0f})")
    print(line)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: against_numba.py path/to/bench_simulator")
    numba = NumbaDecode()
    turns = [(numba.rates(), pagelab_rates(sys.argv[1])) for _ in range(5)]
    for by, place in (("by the clock", 0), ("by processor time", 1)):
        print_row(f"Numba, {by}", [of_numba[place] for of_numba, _ in turns])
        for form in turns[0][1]:
            rates = [of_pagelab[form][place] for _, of_pagelab in turns]
            ratios = [rate / of_numba[place] for rate, (of_numba, _) in zip(rates, turns)]
            print_row(f"pagelab, {form}, {by}", rates, ratios)


if __name__ == "__main__":
    main()
