"""What the threads of a simulated thread block are doing, read from the simulator's own records
(simulator/simt/thread_block.h).
"""

import gdb

LANES_PER_WARP = 32

# On the stack of a thread that waits: where it goes on, rbx, rbp, and 128 bytes that switch_context
# leaves alone.
SAVED_WORDS = 3
RED_ZONE = 128

# kSharedGuardBytes of simulator/simt/checks.h: a constant, which the compiler does not tell gdb.
SHARED_GUARD_BYTES = 4096


def refuse(sentence):
    """Ends a command with a sentence that says what to change."""
    raise gdb.GdbError(sentence)


def coordinates(value):
    return tuple(int(value[axis]) for axis in "xyz")


def text_of(values):
    """ "(3, 0, 1)" """
    return "(%d, %d, %d)" % tuple(values)


class Lane:
    """A thread of the block: its state is "kReady", "kRunning", "kAtBarrier", "kAtCollective" or
    "kReturned"; it has a fiber from its first step to its last."""

    def __init__(self, record, index):
        self.index = index
        self.thread_idx = coordinates(record["thread_idx"])
        self.state = str(record["state"]).rsplit("::", 1)[-1]
        self.fiber = record["fiber"]
        self.has_fiber = int(record["fiber"]) != 0
        self.word = record["waits_at"].string() if int(record["waits_at"]) else ""
        self.pc = int(record["pc"])

    def has_frames(self):
        return self.has_fiber and self.state != "kReturned"

    def describe(self):
        """What it does, without saying which one it is."""
        if self.state == "kReturned":
            return "returned"
        if not self.has_fiber:
            return "not begun"
        if self.state == "kRunning":
            return "running"
        place = self.word + line_of_return(self.pc) if self.word else "an atomic"
        return ("ready to leave " if self.state == "kReady" else "waiting at ") + place

    def registers(self):
        """Those that switch_context leaves to it when it goes on."""
        top = int(self.fiber["context_"]["stack_pointer"])
        saved = gdb.selected_inferior().read_memory(top, 8 * SAVED_WORDS)
        words = [int.from_bytes(bytes(saved[i : i + 8]), "little") for i in range(0, 24, 8)]
        names = ("rip", "rbx", "rbp")
        return dict(zip(names, words), rsp=top + 8 * SAVED_WORDS + RED_ZONE)

    def holds(self, address):
        """Whether an address lies on its stack."""
        if not self.has_fiber:
            return False
        begin = int(self.fiber["context_"]["stack_begin"])
        return begin <= address < begin + int(self.fiber["context_"]["stack_bytes"])


def line_of_return(pc):
    """ ", 2_warp.cuh:74": the line of the call that returns there."""
    sal = gdb.find_pc_line(pc - 1)
    if sal.symtab is None:
        return ""
    return ", " + line_of(sal)


def line_of(sal):
    """ "2_warp.cuh:74" """
    return "%s:%d" % (sal.symtab.filename.rsplit("/", 1)[-1], sal.line)


class ThreadBlock:
    """The thread block that gdb's current host thread runs."""

    def __init__(self, record):
        self.record = record
        self.config = record["plan_"]["config"]
        self.kernel = self.config["kernel"].string()
        self.grid = coordinates(self.config["grid"])
        self.cta = coordinates(self.config["cta"])
        self.cta_idx = coordinates(gdb.parse_and_eval("pagelab::simt::blockIdx"))
        self.running = int(record["running_thread_"])
        first, end = (record["lanes_"]["_M_impl"][name] for name in ("_M_start", "_M_finish"))
        self.lanes = [Lane(first[i], i) for i in range(int(end - first))]

    def warp(self, index):
        """The lanes of the warp that a thread is in."""
        first = index // LANES_PER_WARP * LANES_PER_WARP
        return self.lanes[first : first + LANES_PER_WARP]

    def flat_index(self, thread_idx):
        for length, place, axis in zip(self.cta, thread_idx, "xyz"):
            if place >= length:
                refuse(
                    "There is no thread with %s = %d: in a thread block of %s, %s is from 0 to %d."
                    % (axis, place, text_of(self.cta), axis, length - 1)
                )
        x, y, z = thread_idx
        return (z * self.cta[1] + y) * self.cta[0] + x

    def dynamic_shared(self):
        """(address, bytes) of dynamic shared memory."""
        owner = self.record["dynamic_shared_"]  # a std::unique_ptr: one address
        arena = owner.address.cast(gdb.lookup_type("unsigned long").pointer()).dereference()
        return int(arena) + SHARED_GUARD_BYTES, int(self.config["shared_bytes"])


def thread_block_of_host_thread():
    """What the current host thread runs, or None."""
    try:
        running = gdb.parse_and_eval("pagelab::simt::running_thread_block")
        if int(running) == 0:
            return None
        return ThreadBlock(running.dereference())
    except gdb.MemoryError:
        return None


def require_simulator():
    try:
        gdb.parse_and_eval("sizeof(pagelab::simt::ThreadBlock)")
    except gdb.error:
        refuse(
            "This program has no simulator in it, or was built without -g3; build the debug preset."
        )


def thread_block():
    """The same; a sentence if there is none."""
    require_simulator()
    if gdb.selected_thread() is None:
        refuse("The program is not running; `simt kernel` leads into its first kernel.")
    block = thread_block_of_host_thread()
    if block is None:
        refuse("No kernel is running; `simt kernel` goes on to the next one.")
    return block
