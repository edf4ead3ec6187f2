#!/usr/bin/env python3
"""The simulator's counters beside those of Nsight Compute, kernel by kernel, on the same shapes.

    benchmarks/gpu/profile_kernels.py --pagelab build/device/bin/pagelab --out counters

runs `pagelab profile all` twice: in the simulator, which counts, and on the GPU, where ncu looks on. It
prints a table: what, simulator, ncu, difference. With --out, both raw outputs and the table as CSV are
kept; given back with --simulator and --ncu, they make the table again on a machine without a GPU.
"""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import sys

# What is compared: a name, kind and count of the simulator (several: their sum), and the metrics of ncu that
# add up to it. ncu's global loads include asynchronous copies.
COMPARED = [
    ("global load requests", [("global load", "requests"), ("async copy", "requests")],
     ["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]),
    ("global load sectors", [("global load", "sectors"), ("async copy", "sectors")],
     ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    ("global store requests", [("global store", "requests")], ["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"]),
    ("global store sectors", [("global store", "sectors")], ["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]),
    ("global atomic requests", [("global atomic", "requests")],
     ["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"]),
    ("global atomic sectors", [("global atomic", "sectors")],
     ["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"]),
    ("async copies", [("async copy", "requests")], ["smsp__inst_executed_op_ldgsts.sum"]),
    ("shared load requests", [("shared load", "requests")], ["smsp__inst_executed_op_shared_ld.sum"]),
    ("shared load wavefronts", [("shared load", "wavefronts")],
     ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
    ("shared load conflicts", [("shared load", "conflicts")],
     ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]),
    ("shared store requests", [("shared store", "requests")], ["smsp__inst_executed_op_shared_st.sum"]),
    ("shared store wavefronts", [("shared store", "wavefronts")],
     ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]),
    ("shared store conflicts", [("shared store", "conflicts")],
     ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"]),
    ("shared atomic requests", [("shared atomic", "requests")], ["smsp__inst_executed_op_shared_atom.sum"]),
    ("shared atomic wavefronts", [("shared atomic", "wavefronts")],
     ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"]),
    ("shared atomic conflicts", [("shared atomic", "conflicts")],
     ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"]),
    ("ldmatrix", [("ldmatrix", None)], ["smsp__inst_executed_op_ldsm.sum"]),
    ("mma", [("mma", None)], ["sm__inst_executed_pipe_tensor_op_hmma.sum"]),
]
# Where the compilers or the counters differ, and why; docs/counters.md says more. A launch of its own: "launch 2".
SWITCHED_OFF = "ncu counts instructions that a predicate switches off for the whole warp"
A_ROW_OF_A = "nvcc loads four neighbours of a row of A at once, 16 bytes"
TWO_OF_A_ROW = "nvcc loads two neighbours of a row of A at once, 4 bytes"
ONE_INCREMENT = "an increment by 1 adds up the lanes of a word at once"
FOUR_WEIGHTS = "nvcc loads four weights at once, 16 bytes in two wavefronts; single loads are switched off"
NEIGHBOURS = "nvcc loads or stores neighbours at once, 8 or 16 bytes"
TWO_PARTITIONS = "nvcc loads the numbers of two partitions at once, 16 bytes in two wavefronts"
ZEROS = "a copy that only fills with zeros asks nothing of global memory"
MORE_THAN_SOURCE = "ncu's sum is greater than LDS and LDSM on its own source page, which are as many as here"
IN_PIECES = "a structure is stored in other pieces"
AT_ONCE = "a few, and others in each run: different accesses at the same time"
CONSTANTS = "HFMA2.MMA, which puts a constant into a register"
NOTES = {
    ("block_reduce/1_shared_memory", "shared load requests"): SWITCHED_OFF,
    ("block_reduce/1_shared_memory", "shared store requests"): SWITCHED_OFF,
    ("scan/1_hillis_steele", "shared load requests"): SWITCHED_OFF,
    ("scan/2_warp_shuffle", "shared load requests"): SWITCHED_OFF,
    ("matmul/2_tiled", "shared store requests"): SWITCHED_OFF,
    ("matmul/2_tiled", "shared load requests"): A_ROW_OF_A,
    ("matmul/2_tiled", "shared load wavefronts"): A_ROW_OF_A,
    ("matmul/3_tensor_cores", "shared load requests"): TWO_OF_A_ROW,
    ("matmul/3_tensor_cores", "shared load wavefronts"): TWO_OF_A_ROW,
    ("matmul/3_tensor_cores", "shared load conflicts"): TWO_OF_A_ROW,
    ("histogram/2_shared_atomics", "shared atomic wavefronts"): ONE_INCREMENT,
    ("histogram/2_shared_atomics", "shared atomic conflicts"): ONE_INCREMENT,
    ("paged_decode/3_cta", "shared load requests"): FOUR_WEIGHTS,
    ("paged_decode/3_cta", "shared load wavefronts"): FOUR_WEIGHTS,
    ("paged_decode/4_split", "launch 1", "shared load requests"): FOUR_WEIGHTS,
    ("paged_decode/4_split", "launch 1", "shared load wavefronts"): FOUR_WEIGHTS,
    ("paged_decode/4_split", "launch 2", "shared load requests"): SWITCHED_OFF,
    ("paged_decode/5_grouped", "launch 1", "shared load requests"): FOUR_WEIGHTS,
    ("paged_decode/5_grouped", "launch 1", "shared load wavefronts"): FOUR_WEIGHTS,
    ("paged_decode/5_grouped", "launch 1", "shared load conflicts"): AT_ONCE,
    ("paged_decode/5_grouped", "launch 2", "shared load requests"): SWITCHED_OFF,
    ("paged_decode/6_pipelined", "launch 1", "global load requests"): ZEROS,
    ("paged_decode/6_pipelined", "launch 2", "shared load requests"): SWITCHED_OFF,
    ("paged_decode/7_tensor_cores", "launch 1", "global load requests"): ZEROS,
    ("paged_decode/7_tensor_cores", "launch 2", "shared load wavefronts"): TWO_PARTITIONS,
    ("paged_prefill/1_tiled", "shared store requests"): SWITCHED_OFF,
    ("paged_prefill/2_tensor_cores", "shared load wavefronts"): AT_ONCE,
    ("paged_prefill/2_tensor_cores", "shared load conflicts"): AT_ONCE,
    ("paged_prefill/3_pipelined", "global load requests"): ZEROS,
    ("paged_prefill/3_pipelined", "shared store requests"): IN_PIECES,
    ("paged_prefill/3_pipelined", "shared store wavefronts"): IN_PIECES,
    ("paged_prefill/3_pipelined", "shared store conflicts"): IN_PIECES,
    ("cascade/1_prefix", "launch 1", "global load requests"): ZEROS,
    ("cascade/1_prefix", "launch 1", "shared load requests"): MORE_THAN_SOURCE,
    ("cascade/1_prefix", "launch 1", "shared load wavefronts"): AT_ONCE,
    ("cascade/1_prefix", "launch 1", "shared load conflicts"): AT_ONCE,
    ("cascade/1_prefix", "launch 2", "shared load requests"): TWO_PARTITIONS,
    ("unified/1_two_dimensional", "shared store requests"): SWITCHED_OFF,
    ("unified/1_two_dimensional", "shared store wavefronts"): AT_ONCE,
    ("unified/1_two_dimensional", "shared store conflicts"): AT_ONCE,
    ("unified/2_segmented", "shared store requests"): SWITCHED_OFF,
    ("unified/2_segmented", "shared store wavefronts"): AT_ONCE,
    ("unified/2_segmented", "shared store conflicts"): AT_ONCE,
    ("flex/1_block_mask", "shared store requests"): SWITCHED_OFF,
    ("flex/1_block_mask", "shared load wavefronts"): AT_ONCE,
    ("flex/1_block_mask", "shared load conflicts"): AT_ONCE,
}
# Kernels of which all other counts of shared memory differ because of NEIGHBOURS.
WITH_NEIGHBOURS = {"paged_decode/6_pipelined", "paged_decode/7_tensor_cores", "paged_prefill/1_tiled",
                   "paged_prefill/3_pipelined", "unified/1_two_dimensional", "unified/2_segmented"}
# What ncu alone knows: printed, not compared.
SHOWN = [
    "smsp__inst_executed.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
]


def stop(sentence):
    sys.exit(f"profile_kernels.py: {sentence}")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        stop(f"{' '.join(command)} ended with status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def known_metrics(ncu):
    """The metrics above that this ncu has; one that it lacks would stop it."""
    listed = run([ncu, "--query-metrics"])
    names = set(listed.split())
    wanted = [metric for _, _, metrics in COMPARED for metric in metrics] + SHOWN
    known = [metric for metric in wanted if metric.split(".")[0] in names]
    for metric in wanted:
        if metric not in known:
            print(f"this ncu has no {metric}: left out", file=sys.stderr)
    return known


def collect(pagelab, ncu):
    """ncu's raw page: a line of names, a line of units, then one line a launch."""
    metrics = known_metrics(ncu)
    return run([ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
                "--metrics", ",".join(metrics), str(pagelab), "profile", "all", "--target", "cuda"])


def launches_of_ncu(text):
    """A dictionary for each launch, from ncu's output, which begins with lines of the program's own."""
    lines = text.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        stop("ncu's output has no table: " + text[-500:])
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[header:]))) if (row.get("ID") or "").isdigit()]
    return rows


def number(text):
    return float(text.replace(",", "")) if text else None


def extent(text):
    return [int(part) for part in text.strip("()").split(",")]


def count_of(totals, kind, count):
    """A count of the simulator; words such as ldmatrix have only one, and `count` is None."""
    counts = totals.get(kind, 0)
    return counts.get(count, 0) if isinstance(counts, dict) else counts


def rows_of_launch(kernel, label, launch, measured):
    """(kernel, launch, what, simulator, ncu, difference)"""
    for what, counts, metrics in COMPARED:
        values = [number(measured.get(metric)) for metric in metrics]
        if all(value is None for value in values):
            continue
        simulated = sum(count_of(launch["totals"], kind, count) for kind, count in counts)
        total = sum(value for value in values if value is not None)
        if simulated == 0 and total == 0:
            continue
        yield kernel, label, what, simulated, int(total), int(total) - simulated
    for metric in SHOWN:
        value = number(measured.get(metric))
        if value is not None:
            yield kernel, label, metric, "-", int(value), "-"


def compare(simulated, measured):
    launches = [(kernel["kernel"], f"launch {place + 1}, {launch['kernel']}", launch)
                for kernel in simulated["kernels"] for place, launch in enumerate(kernel["launches"])]
    if len(launches) != len(measured):
        stop(f"the simulator counted {len(launches)} launches, but ncu saw {len(measured)}.")
    for (kernel, label, launch), on_gpu in zip(launches, measured):
        grid, cta = extent(on_gpu["Grid Size"]), extent(on_gpu["Block Size"])
        if grid != launch["grid"] or cta != launch["cta"]:
            stop(f"{launch['kernel']} has grid {launch['grid']} and thread block {launch['cta']} in the simulator, "
                 f"but ncu saw {on_gpu['Kernel Name']} with {grid} and {cta}.")
        yield from rows_of_launch(kernel, label, launch, on_gpu)


def note_of(kernel, launch, what, simulated):
    """Why a count differs. launch begins with its number: "launch 2, …" """
    of_launch = NOTES.get((kernel, launch.split(",")[0], what))
    note = of_launch or NOTES.get((kernel, what))
    if note:
        return note
    if what == "mma" and simulated == 0:
        return CONSTANTS
    return NEIGHBOURS if kernel in WITH_NEIGHBOURS and what.startswith("shared") else "not explained"


def print_table(rows):
    previous = None
    for kernel, launch, what, simulated, measured, difference in rows:
        if (kernel, launch) != previous:
            print(f"\n{kernel}" + f", {launch}")
            print(f"  {'':<68} {'simulator':>12} {'ncu':>12} {'difference':>12}")
            previous = (kernel, launch)
        mark = "" if difference in (0, "-") else f"  * {note_of(kernel, launch, what, simulated)}"
        print(f"  {what:<68} {simulated:>12} {measured:>12} {difference:>12}{mark}")
    compared = [row for row in rows if row[5] != "-"]
    equal = [row for row in compared if row[5] == 0]
    print(f"\n{len(equal)} of {len(compared)} counts are equal; the others are marked *")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagelab", type=pathlib.Path, default=pathlib.Path("build/default/bin/pagelab"))
    parser.add_argument("--ncu-program", default="ncu")
    parser.add_argument("--simulator", type=pathlib.Path, help="output of an earlier run, simulator.json")
    parser.add_argument("--ncu", type=pathlib.Path, help="output of an earlier run, ncu.csv")
    parser.add_argument("--out", type=pathlib.Path, help="folder for simulator.json, ncu.csv and table.csv")
    options = parser.parse_args()
    simulated = options.simulator.read_text() if options.simulator else run([str(options.pagelab), "profile", "all", "--json"])
    measured = options.ncu.read_text() if options.ncu else collect(options.pagelab, options.ncu_program)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "simulator.json").write_text(simulated)
        (options.out / "ncu.csv").write_text(measured)
    rows = list(compare(json.loads(simulated), launches_of_ncu(measured)))
    print_table(rows)
    if options.out:
        with open(options.out / "table.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["kernel", "launch", "what", "simulator", "ncu", "difference"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
