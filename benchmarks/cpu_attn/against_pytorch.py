#!/usr/bin/env python3
"""CPU_ATTN over a paged cache against PyTorch's CPU attention over contiguous arrays, in one run.

    python3 benchmarks/cpu_attn/against_pytorch.py build/native/bin/bench_cpu_attn [rounds] [threads]
    python3 benchmarks/cpu_attn/against_pytorch.py build/native/bin/bench_cpu_attn [rounds] processor

Needs PyTorch (`pip install torch numpy`). The two programs take turns, round after round, so that what else
runs on the machine meets both. Each round's time is the best of a few calls, and the medians of all rounds are
compared. The shapes are those of cpu_attn_benchmark.cpp: decode of 8 requests with 4,096 keys each, prefill of
one prompt of 2,048 tokens (causal); 32 query heads, 8 KV heads, head size 128.

`processor` is for a machine that others use too: one thread each, and the time that it had the processor in
place of the clock's. It says nothing about two threads that share a memory.
"""

import json
import os
import statistics
import subprocess
import sys
import time

NUM_QUERY_HEADS, NUM_KV_HEADS, HEAD_SIZE = 32, 8, 128
SHAPES = {"decode": (8, 1, 4096), "prefill": (1, 2048, 2048)}  # requests, queries, keys of each
# The share of PyTorch's time that CPU_ATTN may take.
GOALS = {"decode/float32": 0.5, "decode/bfloat16": 0.25, "prefill/float32": 1.0}
CALLS_PER_ROUND = 5


def measure_pytorch(num_threads, clock):
    """Prints milliseconds of the best call for each shape and dtype. Runs in a process of its own."""
    import torch
    torch.set_num_threads(num_threads)
    torch.manual_seed(20261129)
    attend = torch.nn.functional.scaled_dot_product_attention
    times = {}
    for name, (num_reqs, query_len, seq_len) in SHAPES.items():
        for dtype in (torch.float32, torch.bfloat16):
            query = torch.rand(num_reqs, NUM_QUERY_HEADS, query_len, HEAD_SIZE).to(dtype)
            key = torch.rand(num_reqs, NUM_KV_HEADS, seq_len, HEAD_SIZE).to(dtype)
            value = torch.rand(num_reqs, NUM_KV_HEADS, seq_len, HEAD_SIZE).to(dtype)
            with torch.inference_mode():
                seconds = []
                for _ in range(CALLS_PER_ROUND):
                    start = clock()
                    attend(query, key, value, is_causal=name == "prefill", enable_gqa=True)
                    seconds.append(clock() - start)
            times[f"{name}/{str(dtype).removeprefix('torch.')}"] = 1000 * min(seconds)
    print(json.dumps({"version": torch.__version__, "times": times}))


def pytorch_round(threads):
    command = [sys.executable, __file__, "--pytorch", threads]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def cpu_attn_round(program, threads):
    command = [program, "--benchmark_format=json", "--benchmark_min_time=0",
               f"--benchmark_repetitions={CALLS_PER_ROUND}"]
    environment = dict(os.environ, PAGELAB_THREADS="1" if threads == "processor" else threads)
    field = "cpu_time" if threads == "processor" else "real_time"
    output = subprocess.run(command, check=True, capture_output=True, text=True,
                            env=environment).stdout
    times = {}
    for row in json.loads(output)["benchmarks"]:
        if row.get("run_type") != "iteration":
            continue
        name = row["name"].split("/real_time")[0]
        times[name] = min(times.get(name, row[field]), row[field])
    return times


def rate(name, milliseconds):
    """GB/s of keys and values for decode, GFLOP/s (2 · length² · head_size · heads) for prefill."""
    num_reqs, _, seq_len = SHAPES[name.split("/")[0]]
    if name.startswith("decode"):
        bytes_per_element = 4 if name.endswith("float32") else 2
        read = 2 * num_reqs * NUM_KV_HEADS * HEAD_SIZE * seq_len * bytes_per_element
        return f"{read / milliseconds / 1e6:6.1f} GB/s"
    return f"{2 * seq_len**2 * HEAD_SIZE * NUM_QUERY_HEADS / milliseconds / 1e6:6.1f} GFLOP/s"


def main():
    program = sys.argv[1]
    num_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    threads = sys.argv[3] if len(sys.argv) > 3 else "2"
    ours, theirs, version = {}, {}, ""
    for _ in range(num_rounds):
        for name, milliseconds in cpu_attn_round(program, threads).items():
            ours.setdefault(name, []).append(milliseconds)
        answer = pytorch_round(threads)
        version = answer["version"]
        for name, milliseconds in answer["times"].items():
            theirs.setdefault(name, []).append(milliseconds)

    print(f"CPU_ATTN (paged, block size 16) against PyTorch {version} (contiguous),")
    how = "time on the processor, 1 thread" if threads == "processor" else f"{threads} threads"
    print(f"{how}; medians of {num_rounds} rounds in turn, each the best of {CALLS_PER_ROUND} calls\n")
    print(f"{'':16} {'CPU_ATTN':>28} {'PyTorch':>28}   share of its time")
    all_reached = True
    for name in ours:
        our_time, their_time = statistics.median(ours[name]), statistics.median(theirs[name])
        share = our_time / their_time
        goal = GOALS.get(name)
        verdict = ""
        if goal is not None:
            all_reached = all_reached and share <= goal
            verdict = f"goal {goal}: {'reached' if share <= goal else 'MISSED'}"
        print(f"{name:16} {our_time:8.1f} ms {rate(name, our_time):>16} {their_time:8.1f} ms "
              f"{rate(name, their_time):>16}   {share:5.2f}  {verdict}")
    return 0 if all_reached else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pytorch"]:
        if sys.argv[2] == "processor":
            measure_pytorch(1, time.thread_time)
        else:
            measure_pytorch(int(sys.argv[2]), time.perf_counter)
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        sys.exit(main())
