#!/usr/bin/env python3
"""Writes one step of decodes that begin with the same blocks, for cascade attention (docs/cascade.md), as a step
folder with its expected values. Nothing of pagelab runs here, and what is expected knows no cascade: definition.py
lets every query meet all its keys at once.

    make_shared_prefix_step.py --out FOLDER

The first three blocks of every block table are the same ones. tests/golden/shared_prefix_step is what this writes.
Needs NumPy alone.
"""

import argparse
import pathlib

import numpy as np

from make_random_steps import random_numbers, write_step
from number_formats import not_a_number

DTYPE = "bfloat16"
BLOCK_SIZE = 16
COMMON_BLOCKS = [5, 2, 8]  # 48 tokens
OWN_BLOCKS = ([0], [7], [3], [9, 1])
SEQ_LENS = [50, 61, 52, 70]  # after this step's tokens: the rest lies in the requests' own blocks
QUERY_LENS = [1, 1, 3, 1]
NUM_BLOCKS = 10  # 4 and 6 belong to nobody
NUM_HEADS, NUM_KV_HEADS, HEAD_SIZE = 4, 1, 16


def shared_prefix_step():
    rng = np.random.default_rng(20261130)
    step = {"json": {"dtype": DTYPE}}
    starts = np.cumsum([0] + QUERY_LENS)
    step["query_start_loc"] = starts.astype(np.int32)
    step["seq_lens"] = np.array(SEQ_LENS, np.int32)
    for name, heads in (("query", NUM_HEADS), ("key", NUM_KV_HEADS), ("value", NUM_KV_HEADS)):
        step[name] = random_numbers(rng, (starts[-1], heads, HEAD_SIZE), DTYPE, 1.0)

    table = np.full((len(SEQ_LENS), len(COMMON_BLOCKS) + max(map(len, OWN_BLOCKS))), -1, np.int32)
    for request, own in enumerate(OWN_BLOCKS):
        blocks = COMMON_BLOCKS + own
        table[request, : len(blocks)] = blocks
    step["block_table"] = table

    def slot(request, position):
        return int(table[request, position // BLOCK_SIZE]) * BLOCK_SIZE + position % BLOCK_SIZE

    step["slot_mapping"] = np.array(
        [
            slot(request, position)
            for request, (query_len, seq_len) in enumerate(zip(QUERY_LENS, SEQ_LENS))
            for position in range(seq_len - query_len, seq_len)
        ],
        np.int64,
    )
    # Only tokens of the sequences are numbers: whoever reads past them finds NaN.
    for name in ("key_cache", "value_cache"):
        cache = not_a_number(rng, (NUM_BLOCKS * BLOCK_SIZE, NUM_KV_HEADS, HEAD_SIZE), DTYPE)
        slots = {
            slot(request, position)
            for request, (query_len, seq_len) in enumerate(zip(QUERY_LENS, SEQ_LENS))
            for position in range(seq_len - query_len)
        }
        for used in sorted(slots):
            cache[used] = random_numbers(rng, (NUM_KV_HEADS, HEAD_SIZE), DTYPE, 1.0)
        step[name] = cache.reshape(NUM_BLOCKS, BLOCK_SIZE, NUM_KV_HEADS, HEAD_SIZE)
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the step folder that is made")
    write_step(parser.parse_args().out, shared_prefix_step())


if __name__ == "__main__":
    main()
