"""What an attention step must do, from the definition, in float64: store the new tokens, then attend.

A step is a dictionary: the arrays of its folder under their file names, and step.json under "json".
"""

import numpy as np

from number_formats import is_fp8, numbers_of, stored


def scale_of_heads(step, name):
    """k_scale or v_scale, one a KV head: an array of one or of all, a number in step.json, or 1."""
    scale = step.get(name, np.float32(step["json"].get(name, 1.0)))
    return np.broadcast_to(scale, step["key"].shape[1])


def cache_after_write(step, name):
    """key_cache or value_cache with the new tokens at their slots. The cache's own type is copied bit for bit;
    fp8 holds x / scale, divided in float32 (in float64 if x is); all else is rounded once."""
    cache = step[name + "_cache"].copy()
    new, dtype, cache_dtype = step[name], step["json"]["dtype"], cache_dtype_of(step)
    num_stored = step["query_start_loc"][-1]
    if cache_dtype != dtype:
        numbers = numbers_of(new[:num_stored], dtype)
        if is_fp8(cache_dtype):
            width = np.float64 if dtype == "float64" else np.float32
            scale = scale_of_heads(step, {"key": "k_scale", "value": "v_scale"}[name])
            numbers = (numbers.astype(width) / scale.astype(width)[:, None]).astype(np.float64)
        new = stored(numbers, cache_dtype)
    block_size = cache.shape[1]
    for token, slot in enumerate(step["slot_mapping"]):
        if slot >= 0:
            cache[slot // block_size, slot % block_size] = new[token]
    return cache


def cache_dtype_of(step):
    """The caches' type; "fp8" is the other name of fp8_e4m3."""
    name = step["json"].get("kv_cache_dtype") or step["json"]["dtype"]
    return "fp8_e4m3" if name == "fp8" else name


def cached_rows(step, name, cache, request):
    """Keys or values [seq_len, num_kv_heads, size] of one request, position by position."""
    scale = scale_of_heads(step, {"key": "k_scale", "value": "v_scale"}[name])
    block_size = cache.shape[1]
    rows = np.empty((step["seq_lens"][request], *cache.shape[2:]))
    for position in range(len(rows)):
        block = step["block_table"][request, position // block_size]
        number = numbers_of(cache[block, position % block_size], cache_dtype_of(step))
        rows[position] = number * scale[:, None] if is_fp8(cache_dtype_of(step)) else number
    return rows


def visible(step, request, query_position, seq_len):
    """The positions of the keys that a query sees, of those that exist."""
    options = step["json"]
    attn_type = options.get("attn_type", "decoder")
    key_position = np.arange(seq_len)
    if attn_type == "encoder_decoder":
        return key_position  # queries and keys share no positions
    by_rule = np.ones(seq_len, bool)
    if options.get("causal", attn_type == "decoder"):
        by_rule &= key_position <= query_position
    left, right = options.get("sliding_window") or (-1, -1)
    if left >= 0:
        by_rule &= query_position - key_position <= left
    if right >= 0:
        by_rule &= key_position - query_position <= right
    by_range = np.zeros(seq_len, bool)
    for owner, first, last in step.get("mm_prefix_ranges", ()):
        if owner == request and first < last and first <= query_position <= last:
            by_range |= (first <= key_position) & (key_position <= last)
    return np.flatnonzero(by_rule | by_range)


def scores(step, head, query, keys, query_position, key_positions):
    """One query head [head_size] against its visible keys [n, head_size]: scale, then cap, then bias."""
    options = step["json"]
    scale = options.get("scale")
    score = (keys @ query) * (1.0 / np.sqrt(len(query)) if scale is None else scale)
    cap = options.get("logit_softcap")
    if cap is not None:
        score = cap * np.tanh(score / cap)
    if "alibi_slopes" in step:
        score = score - float(step["alibi_slopes"][head]) * np.abs(query_position - key_positions)
    return score


def attend_one_head(score, values, sink):
    """Output [head_size_v] and LSE of one query head; a sink is one more score, whose value is 0."""
    if len(score) == 0:
        return np.zeros(values.shape[1]), sink
    m = np.fmax(np.fmax.reduce(score), sink)
    weight = np.exp(score - m)
    total = weight.sum() + (np.exp(sink - m) if sink > -np.inf else 0.0)
    return weight @ values / total, m + np.log(total)


def expected(step):
    """expected_output [T, num_query_heads, head_size_v], expected_lse [num_query_heads, T], expected caches."""
    key_cache, value_cache = cache_after_write(step, "key"), cache_after_write(step, "value")
    query = numbers_of(step["query"], step["json"]["dtype"])
    num_tokens, num_heads, _ = query.shape
    group_size = num_heads // step["key"].shape[1]
    output = np.zeros((num_tokens, num_heads, step["value"].shape[2]))
    lse = np.full((num_heads, num_tokens), -np.inf)
    for request, seq_len in enumerate(step["seq_lens"]):
        begin, end = step["query_start_loc"][request : request + 2]
        if step["json"].get("attn_type") == "encoder_only":  # its keys are this step's own tokens
            keys, values = (numbers_of(step[name][begin:end], step["json"]["dtype"]) for name in ("key", "value"))
        else:
            keys, values = (
                cached_rows(step, name, cache, request) for name, cache in (("key", key_cache), ("value", value_cache))
            )
        for token in range(begin, end):
            position = int(seq_len) - int(end) + token  # the last query has the last key's position
            seen = visible(step, request, position, seq_len)
            for head in range(num_heads):
                kv_head = head // group_size
                score = scores(step, head, query[token, head], keys[seen, kv_head], position, seen)
                sink = float(step["sinks"][head]) if "sinks" in step else -np.inf
                output[token, head], lse[head, token] = attend_one_head(score, values[seen, kv_head], sink)
    return {
        "expected_output": output,
        "expected_lse": lse,
        "expected_key_cache": key_cache,
        "expected_value_cache": value_cache,
    }
