"""The `simt` commands that show what a kernel is doing; the program stands still meanwhile."""

import re

import gdb

import simt_frames
import simt_records
import simt_tables
from simt_command import Command, show_lane, state_of, whole_numbers
from simt_frames import is_kernels, kernel_frame
from simt_records import LANES_PER_WARP, refuse, text_of


class Grid(Command):
    """Show the kernel that is running: its grid, and the thread block that each core runs.
    Usage: simt grid"""

    name = "grid"

    def run(self, argument):
        self.takes_nothing(argument)
        block = simt_records.thread_block()
        checks = "on" if str(block.config["checks"]).endswith("kOn") else "off"
        print(
            "kernel %s, checks %s: grid %s, thread block %s, %d bytes of dynamic shared memory"
            % (
                block.kernel,
                checks,
                text_of(block.grid),
                text_of(block.cta),
                int(block.config["shared_bytes"]),
            )
        )
        with simt_frames.host_thread_kept() as host_threads:
            for host_thread in host_threads:
                self.show_core(host_thread)

    @staticmethod
    def show_core(host_thread):
        host_thread.switch()
        block = simt_records.thread_block_of_host_thread()
        if block is None:
            return
        counts = [
            (len([lane for lane in block.lanes if is_one(lane)]), what)
            for is_one, what in (
                (lambda lane: lane.state == "kRunning", "running"),
                (lambda lane: lane.state.startswith("kAt"), "waiting"),
                (lambda lane: lane.state == "kReady" and lane.has_fiber, "ready to go on"),
                (lambda lane: lane.state == "kReady" and not lane.has_fiber, "not begun"),
                (lambda lane: lane.state == "kReturned", "returned"),
            )
        ]
        told = ", ".join("%d %s" % (count, what) for count, what in counts if count > 0)
        place = text_of(block.cta_idx)
        print("host thread %d: thread block %s: %s" % (host_thread.num, place, told))


class Threads(Command):
    """Show what each thread of the running thread block does.
    Usage: simt threads
    A thread runs, waits somewhere, is ready to leave a place where it waited, has not begun, or has
    returned. A star marks the chosen one."""

    name = "threads"

    def run(self, argument):
        self.takes_nothing(argument)
        block = simt_records.thread_block()
        chosen = simt_frames.chosen_lane(block)
        print("thread block %s of kernel %s" % (text_of(block.cta_idx), block.kernel))
        star = chosen.index if chosen is not None else None
        groups = simt_tables.groups(
            block.lanes, lambda lane: (state_of(block, lane), lane.index == star)
        )
        rows = [("thread" + simt_tables.span(group), key) for key, group in groups]
        width = max(len(span) for span, _ in rows)
        for span, (state, star) in rows:
            print("%s %-*s  %s" % ("*" if star else " ", width, span, state))


class Thread(Command):
    """Choose a thread of the running thread block, whatever it does, to look at.
    Usage: simt thread [X [Y [Z]]]
    `backtrace`, `up`, `info locals`, `print` and threadIdx are then its own, and `simt next` steps
    it. gdb's `continue` and `next` go on with the running thread as if nothing had been chosen.
    Without a number, say which one is chosen."""

    name = "thread"

    def run(self, argument):
        block = simt_records.thread_block()
        if argument:
            choose(block, block.flat_index(whole_numbers(argument, "thread")))
            return
        lane = simt_frames.chosen_lane(block)
        if lane is None:
            print("The simulator is between two threads.")
        else:
            show_lane(block, lane)


class Lane(Command):
    """Choose a lane of the chosen thread's warp, as `simt thread` does.
    Usage: simt lane N"""

    name = "lane"

    def run(self, argument):
        block = simt_records.thread_block()
        lanes = block.warp(chosen_index(block))
        if not re.fullmatch("[0-9]+", argument) or int(argument) >= len(lanes):
            refuse("'%s' is no lane of this warp: write 0 to %d." % (argument, len(lanes) - 1))
        choose(block, lanes[int(argument)].index)


def choose(block, index):
    lane = block.lanes[index]
    if not lane.has_frames():
        refuse(
            "thread %s has %s, so there is nothing to see of it."
            % (text_of(lane.thread_idx), lane.describe())
        )
    simt_frames.look_at(block, lane)
    show_lane(block, lane)


def chosen_index(block):
    lane = simt_frames.chosen_lane(block)
    return block.running if lane is None else lane.index


class Print(Command):
    """Print the value of an expression in each lane of the chosen thread's warp.
    Usage: simt print EXPRESSION
    The expression is evaluated in the function that is selected. Brackets mark the chosen lane; a
    dot stands for a lane that has not begun, x for one that has returned, and ? for one that has not
    come to a variable's declaration yet, or is elsewhere."""

    name = "print"
    completion = gdb.COMPLETE_EXPRESSION

    def run(self, argument):
        if not argument:
            refuse("simt print takes an expression, as in: simt print sum")
        block = simt_records.thread_block()
        function = self.selected_function(block)
        chosen = chosen_index(block)
        lanes = block.warp(chosen)
        with simt_frames.selection_kept():
            values = [self.value_in(block, lane, function, argument) for lane in lanes]
            states = [state_of(block, lane) for lane in lanes]
        if all(value in (".", "x", "?") for value in values):
            gdb.parse_and_eval(argument)  # says what is wrong with it
        values[chosen % LANES_PER_WARP] = "[%s]" % values[chosen % LANES_PER_WARP]
        print(
            "%s in warp %d of thread block %s"
            % (argument, chosen // LANES_PER_WARP, text_of(block.cta_idx))
        )
        simt_tables.print_row(values)
        for state, group in simt_tables.groups(range(len(lanes)), lambda i: states[i]):
            print("lane%s %s" % (simt_tables.span_of(group[0], group[-1]), state))

    @staticmethod
    def selected_function(block):
        frame = gdb.selected_frame()
        if not is_kernels(frame) or frame.function() is None:
            frame = kernel_frame()
        if frame is None or frame.function() is None:
            refuse("The chosen thread is in no kernel; `simt threads` shows where others are.")
        return frame.function()

    @staticmethod
    def value_in(block, lane, function, expression):
        if not lane.has_frames():
            return "x" if lane.state == "kReturned" else "."
        simt_frames.look_at(block, lane)
        for frame in simt_frames.frames_of_lane():
            if frame.function() is not None and same_function(frame.function(), function):
                frame.select()
                if not is_set(frame, expression):
                    return "?"
                try:
                    return simt_tables.text_of_value(gdb.parse_and_eval(expression))
                except gdb.error:
                    return "?"
        return "?"


def is_set(frame, expression):
    """Whether every variable of an expression was declared before the place where the frame is."""
    block = frame.block()
    sal = frame.find_sal()
    for name in re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", expression):
        symbol = gdb.lookup_symbol(name, block)[0]
        if symbol is None or symbol.is_argument or symbol.symtab is None:
            continue
        if symbol.symtab.filename != sal.symtab.filename or symbol.line < sal.line:
            continue
        if symbol.line > sal.line or not is_past_first_part(frame, sal):
            return False
    return True


def is_past_first_part(frame, sal):
    """Whether a frame that calls nothing is at a later part of its line, as in a loop's next turn."""
    if frame != gdb.newest_frame():
        return False
    function = frame.block()
    while function.function is None:
        function = function.superblock
    parts = sal.symtab.linetable().line(sal.line) or ()
    return frame.pc() > min(
        (part.pc for part in parts if function.start <= part.pc < function.end), default=frame.pc()
    )


def same_function(one, other):
    return one.name == other.name and one.line == other.line


class Shared(Command):
    """Show an array in shared memory as a table.
    Usage: simt shared NAME [COLUMNS]
    NAME is an array that the selected function declares __shared__, or a pointer into dynamic
    shared memory, which is shown to its end. A table has its own columns; of a plain array, COLUMNS
    elements stand in a row, 8 unless said."""

    name = "shared"
    completion = gdb.COMPLETE_EXPRESSION
    usage = (
        "simt shared takes an array in shared memory, and a number of columns from 1 to 64 if you "
        "like, as in: simt shared scores 8"
    )

    def run(self, argument):
        matched = re.fullmatch(r"(.*\S)\s+([0-9]+)|(.+)", argument)
        if matched is None:
            refuse(self.usage)
        name, columns = matched[1] or matched[3], int(matched[2] or 8)
        if not 1 <= columns <= 64:
            refuse(self.usage)
        block = simt_records.thread_block()
        with simt_frames.selection_kept():
            if not is_kernels(gdb.selected_frame()) and kernel_frame() is not None:
                kernel_frame().select()
            value = gdb.parse_and_eval(name)
            simt_tables.print_table(name, self.array_of(block, name, value), columns)

    @staticmethod
    def array_of(block, name, value):
        """The array that a value is, or that a pointer into dynamic shared memory points to."""
        kind = value.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
            kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR:
            begin, num_bytes = block.dynamic_shared()
            offset = int(value) - begin
            count = (num_bytes - offset) // kind.target().sizeof
            if not 0 <= offset < num_bytes or count == 0:
                refuse(
                    "%s does not point into the %d bytes of dynamic shared memory; "
                    "`print %s[0]@8` shows other memory." % (name, num_bytes, name)
                )
            return value.dereference().cast(kind.target().array(count - 1))
        if kind.code != gdb.TYPE_CODE_ARRAY:
            refuse("%s is a %s, and no array; `print %s` shows it." % (name, value.type, name))
        if value.address is None or any(lane.holds(int(value.address)) for lane in block.lanes):
            refuse("%s is not shared: each thread has its own; `simt print` shows them." % name)
        return value
