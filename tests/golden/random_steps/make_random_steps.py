#!/usr/bin/env python3
"""Writes random attention steps with their expected values, as step folders (docs/step_folder.md).

Nothing of pagelab runs here: definition.py computes token by token, in NumPy's float64, what the definition says,
and number_formats.py rounds. So a fault in pagelab has no counterpart in these files.

    make_random_steps.py --out FOLDER [--seed 1] [--count 40] [--first 0]

Step K of a seed is the same whatever COUNT is. A folder's name says what its step varies. Needs NumPy alone.
"""

import argparse
import json
import pathlib

import numpy as np

from definition import cache_dtype_of, expected
from number_formats import PATTERNS, is_fp8, not_a_number, stored

ARRAYS = (
    *("query", "key", "value", "key_cache", "value_cache", "block_table", "slot_mapping", "query_start_loc"),
    *("seq_lens", "alibi_slopes", "sinks", "mm_prefix_ranges", "k_scale", "v_scale"),
)


def chance(rng, probability):
    return bool(rng.random() < probability)


def random_numbers(rng, shape, dtype, magnitude, grid=None):
    """Normally distributed; on a grid, where rounding to a smaller format meets ties."""
    numbers = rng.standard_normal(shape) * magnitude
    return stored(numbers if grid is None else np.rint(numbers / grid) * grid, dtype)


def random_options(rng):
    """step.json; what has a default is left out now and then."""
    attn_type = str(rng.choice(["decoder"] * 6 + ["encoder_only", "encoder_decoder"]))
    options = {"dtype": str(rng.choice(["float64", "float32", "float16", "bfloat16"]))}
    cache_dtype = options["dtype"] if chance(rng, 0.35) else str(rng.choice([*PATTERNS, "fp8"]))
    if cache_dtype != options["dtype"] or chance(rng, 0.2):
        options["kv_cache_dtype"] = cache_dtype
    if attn_type != "decoder" or chance(rng, 0.5):
        options["attn_type"] = attn_type
    if attn_type == "decoder" and chance(rng, 0.5):
        options["causal"] = chance(rng, 0.5)
    if chance(rng, 0.7):
        options["scale"] = float(rng.uniform(0.02, 0.5))
    if attn_type != "encoder_decoder" and chance(rng, 0.4):
        options["sliding_window"] = [int(rng.choice([-1, 0, 1, 3, 9, 30])), int(rng.choice([-1, 0, 0, 1, 5]))]
    if chance(rng, 0.3):
        options["logit_softcap"] = float(rng.choice([0.5, 5.0, 30.0, 50.0]))
    return options


def random_lengths(rng, attn_type):
    """(query length, sequence length) of every request."""
    kind = str(rng.choice(["decode", "prefill", "chunked", "mixed"]))
    lengths = []
    for _ in range(int(rng.integers(1, 5))):
        context, new = int(rng.integers(0, 40)), int(rng.integers(1, 20))
        own_kind = str(rng.choice(["decode", "prefill", "chunked"])) if kind == "mixed" else kind
        if own_kind == "decode":
            new = 1
        if own_kind == "prefill":
            context = 0
        if chance(rng, 0.1):
            new = 0  # a request that rests
        if chance(rng, 0.05):
            context, new = 0, 0  # an empty one
        if attn_type == "encoder_only":
            lengths.append((new, new))
        elif attn_type == "encoder_decoder":
            lengths.append((new, 0 if chance(rng, 0.25) else context + 1))
        else:
            lengths.append((new, context + new))
    return kind, lengths


def random_ranges(rng, lengths):
    """Prefix-LM ranges that do not overlap, some reaching past the sequence, and rows of padding."""
    ranges = []
    for request, (_, seq_len) in enumerate(lengths):
        position = int(rng.integers(0, 6))
        while chance(rng, 0.7) and position < seq_len + 5:
            last = position + int(rng.integers(0, 15))
            ranges.append([request, position, last])
            position = last + 1 + int(rng.integers(0, 6))
    rng.shuffle(ranges)
    ranges += [[0, -1, -1], [0, 0, 0]][: int(rng.integers(0, 3))]
    return np.array(ranges, np.int32).reshape(-1, 3)


def add_head_options(rng, step, lengths, attn_type, num_heads):
    if attn_type != "encoder_decoder" and chance(rng, 0.3):
        step["alibi_slopes"] = np.float32(2.0) ** rng.uniform(-8, 0, num_heads).astype(np.float32)
    if chance(rng, 0.35):
        step["sinks"] = (rng.standard_normal(num_heads) * 3).astype(np.float32)
        step["sinks"][rng.random(num_heads) < 0.3] = -np.inf
    if attn_type != "encoder_decoder" and chance(rng, 0.3):
        step["mm_prefix_ranges"] = random_ranges(rng, lengths)


def add_scales(rng, step, num_kv_heads):
    """k_scale and v_scale of an fp8 cache: in step.json, an array of one, or one a KV head."""
    for name in ("k_scale", "v_scale"):
        scales = (2.0 ** rng.uniform(-4, 3, num_kv_heads)).astype(np.float32)
        form = str(rng.choice(["none", "json", "one", "heads"]))
        if form == "json":
            step["json"][name] = float(scales[0])
        elif form != "none":
            step[name] = scales if form == "heads" else scales[:1]


def add_cache(rng, step, lengths, sizes, cache_dtype, magnitude):
    """Caches in which only the tokens of the sequences are numbers, and a table of blocks in random order."""
    num_kv_heads = step["key"].shape[1]
    block_size = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 64]))
    blocks_of = [-(-seq_len // block_size) for _, seq_len in lengths]
    num_blocks = sum(blocks_of) + int(rng.integers(1, 4))
    table = np.full((len(lengths), max(blocks_of) + int(rng.integers(0, 3))), -1, np.int32)
    free = list(rng.permutation(num_blocks))
    for request, count in enumerate(blocks_of):
        table[request, :count] = [free.pop() for _ in range(count)]
    # Two requests of a decoder may share the full blocks of their contexts, which neither writes now.
    if len(lengths) > 1 and chance(rng, 0.3) and step["json"].get("attn_type", "decoder") == "decoder":
        first, second = rng.choice(len(lengths), 2, replace=False)
        contexts = [lengths[request][1] - lengths[request][0] for request in (first, second)]
        common = max(0, min(contexts) // block_size)
        table[second, :common] = table[first, :common]
    step["block_table"] = table
    for name, size in zip(("key_cache", "value_cache"), sizes):
        step[name] = not_a_number(rng, (num_blocks, block_size, num_kv_heads, size), cache_dtype)
        for request, (_, seq_len) in enumerate(lengths):
            for position in range(seq_len):
                token = random_numbers(rng, (num_kv_heads, size), cache_dtype, magnitude)
                step[name][table[request, position // block_size], position % block_size] = token


def add_slots(rng, step, lengths, stores_nothing):
    """Where the new tokens go: a decoder's at the end of their sequences, an encoder's keys anywhere in theirs."""
    slots = np.full(step["query"].shape[0], -1, np.int64)
    block_size = step["key_cache"].shape[1]
    attn_type = step["json"].get("attn_type", "decoder")
    skipped = float(rng.choice([0.0, 0.0, 0.3]))
    for request, (query_len, seq_len) in enumerate(lengths):
        if stores_nothing or attn_type == "encoder_only":
            continue
        if attn_type == "decoder":
            positions = range(seq_len - query_len, seq_len)
        else:
            positions = rng.permutation(seq_len)[:query_len]
        for token, position in enumerate(positions, step["query_start_loc"][request]):
            if not chance(rng, skipped):
                block = int(step["block_table"][request, position // block_size])
                slots[token] = block * block_size + position % block_size
    step["slot_mapping"] = slots


def spoil(rng, step):
    """One NaN or infinity in the own tokens of one request: no other request may notice. An infinite value is
    left out: whether it counts depends on how small a weight the precision can hold."""
    lengths = np.diff(step["query_start_loc"])
    if not lengths.any():
        return False
    request = int(rng.choice(np.flatnonzero(lengths)))
    token = int(step["query_start_loc"][request]) + int(rng.integers(0, lengths[request]))
    name = str(rng.choice(["query", "key", "value"]))
    head, element = (int(rng.integers(0, length)) for length in step[name].shape[1:])
    number = np.nan if name == "value" else float(rng.choice([np.nan, np.inf, -np.inf]))
    if step["json"]["dtype"] == "bfloat16":
        step[name][token, head, element] = {np.inf: 0x7F80, -np.inf: 0xFF80}.get(number, 0x7FC0)
    else:
        step[name][token, head, element] = number
    return True


def random_step(seed, index):
    """The step and its folder's name."""
    rng = np.random.default_rng([seed, index])
    options = random_options(rng)
    step = {"json": options}
    dtype, attn_type = options["dtype"], options.get("attn_type", "decoder")
    cache_dtype = cache_dtype_of(step)
    kind, lengths = random_lengths(rng, attn_type)
    stores_nothing = chance(rng, 0.15)
    if attn_type == "decoder" and stores_nothing:  # then queries may be longer than their sequences
        lengths = [(query_len + int(rng.integers(0, 4)), seq_len) for query_len, seq_len in lengths]

    num_kv_heads, group_size = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    num_heads = num_kv_heads * group_size
    head_size = int(rng.choice([1, 2, 3, 5, 8, 11, 16, 17, 24, 32, 33]))
    head_size_v = head_size if chance(rng, 0.5) else int(rng.integers(1, 40))
    magnitude = float(rng.choice([1e-8, 1e-3, 1.0, 1.0, 1.0, 1.0, 8.0, 300.0]))

    step["query_start_loc"] = np.cumsum([0] + [query_len for query_len, _ in lengths]).astype(np.int32)
    step["seq_lens"] = np.array([seq_len for _, seq_len in lengths], np.int32)
    num_used = int(step["query_start_loc"][-1])
    num_tokens = num_used + int(rng.choice([0, 0, 1, 5]))  # with rows of padding
    grid = float(rng.choice([2**-4, 2**-8, 2**-11])) if chance(rng, 0.3) else None
    rows = (("query", num_heads, head_size), ("key", num_kv_heads, head_size), ("value", num_kv_heads, head_size_v))
    for name, heads, size in rows:
        step[name] = random_numbers(rng, (num_tokens, heads, size), dtype, magnitude, grid)
        step[name][num_used:] = not_a_number(rng, step[name][num_used:].shape, dtype)
    add_head_options(rng, step, lengths, attn_type, num_heads)
    if is_fp8(cache_dtype):
        add_scales(rng, step, num_kv_heads)
    add_cache(rng, step, lengths, (head_size, head_size_v), cache_dtype, magnitude)
    add_slots(rng, step, lengths, stores_nothing)

    # In a cache of another type the bits of a NaN that was converted are nobody's business.
    is_spoilt = cache_dtype == dtype and chance(rng, 0.2) and spoil(rng, step)
    varied = [name for name in ("sliding_window", "logit_softcap") if name in options]
    varied += [name for name in ("alibi_slopes", "sinks", "mm_prefix_ranges") if name in step]
    varied += ["spoilt"] if is_spoilt else []
    return step, "_".join([f"{index:04}", attn_type, kind, dtype, cache_dtype, *varied])


def write_step(folder, step):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "step.json").write_text(json.dumps(step["json"], indent=1) + "\n")
    for name in ARRAYS:
        if name in step:
            np.save(folder / (name + ".npy"), step[name])
    for name, array in expected(step).items():
        np.save(folder / (name + ".npy"), array)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the folders are made")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other steps")
    parser.add_argument("--count", type=int, default=40, help="how many steps")
    parser.add_argument("--first", type=int, default=0, help="index of the first step")
    arguments = parser.parse_args()
    np.seterr(all="ignore")  # NaN and infinity are part of the data
    for index in range(arguments.first, arguments.first + arguments.count):
        step, name = random_step(arguments.seed, index)
        write_step(arguments.out / name, step)


if __name__ == "__main__":
    main()
