"""How gdb is led to the frames of a simulated thread that is not running.

A thread that waits lies on a stack of its own, with its registers saved on it as switch_context of
simulator/simt/fiber.h leaves them. No register is touched to show it: its frames are appended to
those of the running thread, behind the outermost one, so that the program goes on as if nobody had
looked. Only threadIdx, which belongs to the core, is lent to the thread that is looked at, and
given back before the program goes on.

Appending works only where gdb lets a stack go on elsewhere: behind a frame that is not a plain one.
An inlined frame is none, and the frames of a thread that waits begin with one, because
switch_context is always inlined.
"""

import contextlib
import re

import gdb
import gdb.unwinder

from simt_records import refuse, thread_block_of_host_thread

# Files of the simulator, and the words of gpu/device: no reader's code.
OURS = re.compile(r"(^|/)(simulator/simt|gpu/device)/[^/]*$")


class FrameId:
    """What gdb knows a frame by: the end of its caller's stack, and where its function begins."""

    def __init__(self, sp, pc):
        self.sp = gdb.Value(sp)
        self.pc = gdb.Value(pc)


class View:
    """A thread that is looked at: its frames are appended behind the frame `anchor`."""

    def __init__(self, lane, anchor):
        self.lane = lane
        self.registers = lane.registers()
        self.anchor = place_of(anchor)
        caller = anchor.older()
        caller_sp = int(caller.read_register("rsp")) if caller else self.anchor[1] + 16
        begin = gdb.block_for_pc(anchor.pc())
        while begin is not None and begin.function is None:
            begin = begin.superblock
        self.frame_id = FrameId(caller_sp, begin.start if begin is not None else anchor.pc())


class LaneUnwinder(gdb.unwinder.Unwinder):
    """Says that the frame at the anchor was called by the thread that is looked at."""

    view = None

    def __init__(self):
        super().__init__("pagelab-simt")

    def __call__(self, pending_frame):
        view = LaneUnwinder.view
        if view is None:
            return None
        pc, sp = (pending_frame.read_register(name) for name in ("rip", "rsp"))
        if (int(pc), int(sp)) != view.anchor:
            return None
        unwound = pending_frame.create_unwind_info(view.frame_id)
        for name, value in view.registers.items():
            unwound.add_saved_register(name, gdb.Value(value))
        return unwound


class LentThreadIdx:
    """threadIdx while it holds another thread's coordinates."""

    address, own = 0, None

    @classmethod
    def lend(cls, lane):
        cls.give_back()
        variable = gdb.parse_and_eval("pagelab::simt::threadIdx")
        cls.address = int(variable.address)
        cls.own = bytes(gdb.selected_inferior().read_memory(cls.address, variable.type.sizeof))
        other = b"".join(place.to_bytes(4, "little") for place in lane.thread_idx)
        gdb.selected_inferior().write_memory(cls.address, other)

    @classmethod
    def give_back(cls):
        own, cls.own = cls.own, None
        if own is not None:
            gdb.selected_inferior().write_memory(cls.address, own)


def place_of(frame):
    return frame.pc(), int(frame.read_register("rsp"))


def outermost_frame():
    """The frame behind which others are appended: where a fiber begins, or, when the simulator is
    between two threads, where it runs the thread block."""
    frame = gdb.newest_frame()
    while frame is not None:
        name = frame.name() or ""
        if name == "pagelab_simt_begin" or name.startswith("pagelab::simt::ThreadBlock::run["):
            return frame
        frame = frame.older()
    return None


def running_lane(block):
    """The lane whose stack the host thread is on; None if the simulator is between two threads."""
    sp = int(gdb.newest_frame().read_register("rsp"))
    lane = block.lanes[block.running]
    return lane if lane.holds(sp) else None


def chosen_lane(block):
    """The lane that is looked at: the running one unless another was chosen since the last stop."""
    if LaneUnwinder.view is not None:
        return LaneUnwinder.view.lane
    return running_lane(block)


def forget_view():
    """The running thread is the one to look at."""
    LentThreadIdx.give_back()
    if LaneUnwinder.view is not None:
        LaneUnwinder.view = None
        gdb.invalidate_cached_frames()


def look_at(block, lane):
    """Makes a lane the chosen one; it must have frames."""
    forget_view()
    running = running_lane(block)
    if running is not None and running.index == lane.index:
        return
    anchor = outermost_frame()
    if anchor is None:
        refuse(
            "gdb cannot follow the running thread to its first frame, and so shows no other one."
        )
    LaneUnwinder.view = View(lane, anchor)
    gdb.invalidate_cached_frames()
    LentThreadIdx.lend(lane)


def frames_of_lane():
    """The frames of the chosen lane, the innermost first."""
    frame = gdb.newest_frame()
    view = LaneUnwinder.view
    if view is not None:
        while place_of(frame) != view.anchor:
            frame = frame.older()
        while frame is not None and place_of(frame) == view.anchor:
            frame = frame.older()
    while frame is not None and frame.name() != "pagelab_simt_begin":
        yield frame
        frame = frame.older()


def is_kernels(frame):
    """Whether a frame is a reader's code: neither the simulator's nor one of gpu/device's words."""
    symtab = frame.find_sal().symtab
    return symtab is not None and OURS.search(symtab.filename) is None


def kernel_frame():
    """The innermost frame of the chosen lane that is in a reader's code; None if there is none."""
    for frame in frames_of_lane():
        if is_kernels(frame):
            return frame
    return None


@contextlib.contextmanager
def host_thread_kept():
    """The program's host threads, to switch between; afterwards the same one is selected, in the
    same frame as before."""
    current = gdb.selected_thread()
    with selection_kept():
        try:
            yield sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num)
        finally:
            current.switch()


@contextlib.contextmanager
def selection_kept():
    """Afterwards the same lane is looked at in the same frame as before."""
    view = LaneUnwinder.view
    level = gdb.selected_frame().level()
    try:
        yield
    finally:
        forget_view()
        if view is not None:
            LaneUnwinder.view = view
            gdb.invalidate_cached_frames()
            LentThreadIdx.lend(view.lane)
        frame = gdb.newest_frame()
        while frame.level() < level:
            frame = frame.older()
        frame.select()


def before_the_program_goes_on(_event):
    LaneUnwinder.view = None
    LentThreadIdx.give_back()


def after_the_program_has_ended(_event):
    LaneUnwinder.view = None
    LentThreadIdx.own = None


class LaneFrameFilter:
    """`backtrace` in a kernel shows the chosen lane's frames that are a reader's, without those of
    the running lane before them and of the simulator around them; `backtrace -no-filters` shows all.
    """

    name = "pagelab-simt"
    priority = 100
    enabled = True

    def filter(self, frames):
        if LaneUnwinder.view is None and not is_in_kernel():
            return frames
        shown = {frame.level() for frame in frames_of_lane() if is_kernels(frame)}
        return (frame for frame in frames if frame.inferior_frame().level() in shown)


def is_in_kernel():
    """Whether the program has stopped in a reader's code that runs on a lane's stack."""
    if gdb.selected_thread() is None:
        return False
    try:
        block = thread_block_of_host_thread()
    except gdb.error:
        return False  # a program without the simulator
    if block is None or running_lane(block) is None:
        return False
    return is_kernels(gdb.newest_frame())


def install():
    gdb.unwinder.register_unwinder(None, LaneUnwinder(), replace=True)
    gdb.frame_filters[LaneFrameFilter.name] = LaneFrameFilter()
    gdb.events.cont.connect(before_the_program_goes_on)
    gdb.events.exited.connect(after_the_program_has_ended)
