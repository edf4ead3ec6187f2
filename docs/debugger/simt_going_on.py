"""The `simt` commands that let the program go on: into a kernel, or by a line of one thread."""

import contextlib
import re

import gdb

import simt_frames
import simt_records
from simt_command import Command, show_lane, whole_numbers
from simt_frames import LaneUnwinder, is_kernels, kernel_frame
from simt_records import refuse, text_of


class Break(Command):
    """Stop at a place in one thread of one thread block only.
    Usage: simt break LOCATION CTA THREAD
    As in: simt break 1_naive.cuh:100 2 5
    CTA and THREAD are x, or x,y,z; what is missing is 0."""

    name = "break"
    completion = gdb.COMPLETE_LOCATION

    def run(self, argument):
        words = argument.split()
        if len(words) != 3:
            refuse(
                "simt break takes a location, a thread block and a thread, "
                "as in: simt break 1_naive.cuh:100 2 5"
            )
        location, cta, thread = words
        condition = condition_of(
            whole_numbers(cta, "thread block", ","), whole_numbers(thread, "thread", ",")
        )
        try:
            gdb.execute("with breakpoint pending off -- break %s if %s" % (location, condition))
        except gdb.error as error:
            refuse("%s does not name a place in this program: %s" % (location, error))


def condition_of(cta_idx, thread_idx):
    """True in one thread of one thread block."""
    return " && ".join(
        "pagelab::simt::%s.%s == %d" % (word, axis, place)
        for word, places in (("blockIdx", cta_idx), ("threadIdx", thread_idx))
        for axis, place in zip("xyz", places)
    )


class Stop(gdb.Breakpoint):
    """A stop of our own that no list shows, and that is gone after use."""

    def __init__(self, function, condition=None):
        super().__init__(function, internal=True)
        self.silent = True
        self.condition = condition


@contextlib.contextmanager
def stops(*made):
    try:
        yield made
    finally:
        for stop in made:
            if stop.is_valid():
                stop.delete()


def is_over():
    return gdb.selected_thread() is None


def is_in(function):
    return not is_over() and gdb.newest_frame().name() == function


class Kernel(Command):
    """Go on to the first line of the next kernel that is launched, in the first thread that runs.
    Usage: simt kernel [NAME]
    With NAME, only a kernel whose name contains it counts."""

    name = "kernel"
    RUN_GRID = "pagelab::simt::run_grid"

    def run(self, argument):
        if is_over():
            gdb.execute("start", to_string=True)
        simt_records.require_simulator()
        with stops(Stop(self.RUN_GRID)):
            while True:
                if not self.go_on(lambda: is_in(self.RUN_GRID)):
                    return
                if argument in gdb.parse_and_eval("config.kernel").string():
                    break
        begin = first_line_of_kernel()
        with stops(Stop("*%#x" % begin)):
            if not self.go_on(lambda: not is_over() and gdb.newest_frame().pc() == begin):
                return
        block = simt_records.thread_block()
        print("kernel %s, " % block.kernel, end="")
        show_lane(block, simt_frames.running_lane(block))

    @staticmethod
    def go_on(has_come):
        """Whether the program came there, and not to its end or to a breakpoint."""
        told = gdb.execute("continue", to_string=True)
        if has_come():
            return True
        print(told, end="")
        if is_over():
            print("No such kernel was launched any more.")
        return False


def first_line_of_kernel():
    """Where the kernel begins that run_grid was called for: the address of its first line."""
    frame = gdb.newest_frame()
    while frame is not None:
        # gpu/device/launch.h has the kernel as an argument.
        try:
            kernel = frame.read_var("kernel")
        except ValueError:
            kernel = None
        if kernel is not None and kernel.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            if kernel.type.strip_typedefs().target().code == gdb.TYPE_CODE_FUNC:
                return behind_prologue(int(kernel))
        frame = frame.older()
    refuse(
        "The kernel was launched without gpu/device/launch.h, so it is not known where it begins."
    )


def behind_prologue(function):
    """Where the function's second line begins in the table of lines."""
    end = gdb.block_for_pc(function).end
    first = gdb.find_pc_line(function)
    places = [entry for entry in first.symtab.linetable() if function < entry.pc < end]
    behind = [entry.pc for entry in places if entry.line not in (0, first.line)]
    return min(behind or [entry.pc for entry in places])


@contextlib.contextmanager
def breakpoints_only_in(condition):
    """Meanwhile the reader's breakpoints stop in one thread only."""
    changed = []
    for stop in gdb.breakpoints():
        if stop.type == gdb.BP_BREAKPOINT and stop.enabled:
            changed.append((stop, stop.condition))
            both = (
                condition if stop.condition is None else "(%s) && %s" % (stop.condition, condition)
            )
            stop.condition = both
    try:
        yield
    finally:
        for stop, own in changed:
            if stop.is_valid():
                stop.condition = own


class Stepping(Command):
    """What `simt next` and `simt step` have in common."""

    RETURNED = "pagelab::simt::ThreadBlock::thread_returned"
    FAILED = "pagelab::simt::ThreadBlock::abandon_fibers"

    def run(self, argument):
        if argument and not re.fullmatch("[1-9][0-9]{0,5}", argument):
            refuse("'%s' is no number of lines: write 1 to 999999." % argument)
        block = simt_records.thread_block()
        lane = simt_frames.chosen_lane(block)
        if lane is None or kernel_frame() is None or is_in(self.FAILED):
            refuse("The thread is in no kernel any more; `continue` goes on with the others.")
        condition = condition_of(block.cta_idx, lane.thread_idx)
        kernel = [frame for frame in simt_frames.frames_of_lane() if is_kernels(frame)][-1]
        with breakpoints_only_in(condition), stops(
            Stop("*%#x" % kernel.older().pc(), condition),
            Stop(self.RETURNED, condition),
            Stop(self.FAILED),
        ):
            num_lines = int(argument or 1)
            if LaneUnwinder.view is not None:
                num_lines -= self.leave_word(condition)
            for _ in range(num_lines):
                if not self.is_still_there():
                    break
                gdb.execute(self.word, to_string=True)
            self.tell_end(lane)

    def leave_word(self, condition):
        """Goes on until a thread that waits has come back from the word where it does. Returns how
        many lines that was: 1 if nothing is left of the word's line, else 0."""
        with stops(Stop("*%#x" % kernel_frame().pc(), condition)):
            gdb.execute("continue", to_string=True)
        if not self.is_still_there():
            return 0
        frame = gdb.newest_frame()
        if frame.find_sal().pc != frame.pc():
            return 0
        gdb.execute("frame")
        return 1

    def is_still_there(self):
        """Whether the thread is in the kernel."""
        return not is_over() and not self.has_ended() and kernel_frame() is not None

    def tell_end(self, lane):
        """If the thread is in the kernel no more, what has become of it."""
        if is_over() or self.is_still_there():
            return
        if not self.has_ended():
            gdb.execute("continue", to_string=True)  # the kernel's last line is behind it
        if is_in(self.RETURNED):
            place = text_of(lane.thread_idx)
            print("thread %s has returned; `continue` goes on with the others." % place)
        elif is_in(self.FAILED):
            sentence = gdb.parse_and_eval("this->error_").format_string(max_elements=0).strip('"')
            print("The launch has failed; `simt threads` shows where each thread was.\n" + sentence)

    def has_ended(self):
        return is_in(self.RETURNED) or is_in(self.FAILED)


class Next(Stepping):
    """Go on by a line, or by N, in the chosen thread.
    Usage: simt next [N]
    At a barrier or a shuffle other threads run in between, but none of them stops, not even at a
    breakpoint."""

    name = "next"
    word = "next"


class Step(Stepping):
    """Go on by a line, or by N, in the chosen thread, and into the functions that a line calls.
    Usage: simt step [N]
    Otherwise as `simt next`."""

    name = "step"
    word = "step"
