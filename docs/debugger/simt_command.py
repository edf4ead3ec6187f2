"""What the `simt` commands have in common: how they are called, how a thread is named and shown."""

import inspect
import re

import gdb

from simt_frames import is_kernels, kernel_frame, running_lane
from simt_records import LANES_PER_WARP, line_of, refuse, text_of


class Command(gdb.Command):
    """A command of `simt`: its name is the class's `name`, its help the class's docstring."""

    completion = gdb.COMPLETE_NONE

    def __init__(self):
        self.__doc__ = inspect.cleandoc(self.__doc__)
        super().__init__("simt " + self.name, gdb.COMMAND_USER, self.completion)

    def invoke(self, argument, from_tty):
        try:
            self.run(argument.strip())
        except gdb.error as error:
            raise gdb.GdbError(str(error))

    def takes_nothing(self, argument):
        if argument:
            refuse("simt %s takes no arguments." % self.name)


def whole_numbers(text, what, separator=None):
    """Up to three of them, the missing ones 0."""
    words = text.split(separator)
    if not 1 <= len(words) <= 3 or not all(re.fullmatch("[0-9]+", word) for word in words):
        refuse("'%s' is no %s: write x, or x%sy%sz." % (text, what, *[separator or " "] * 2))
    return tuple(int(word) for word in words + ["0"] * (3 - len(words)))


def place_of_lane(block, lane):
    """ "thread (5, 0, 0) of thread block (1, 0, 0), lane 5 of warp 0" """
    warp, lane_idx = divmod(lane.index, LANES_PER_WARP)
    return "thread %s of thread block %s, lane %d of warp %d" % (
        text_of(lane.thread_idx),
        text_of(block.cta_idx),
        lane_idx,
        warp,
    )


def state_of(block, lane):
    """What a lane does; where, if it is the running one."""
    running = running_lane(block)
    if running is None and lane.state == "kRunning":
        return "no longer running"
    if running is None or running.index != lane.index:
        return lane.describe()
    for frame in running_frames():
        if is_kernels(frame):
            return "running, " + line_of(frame.find_sal())
    return "running"


def running_frames():
    """The frames of the running lane, whichever is chosen."""
    frame = gdb.newest_frame()
    while frame is not None and frame.name() != "pagelab_simt_begin":
        yield frame
        frame = frame.older()


def show_lane(block, lane):
    """One line about a lane, and the frame that is selected."""
    print("%s: %s" % (place_of_lane(block, lane), state_of(block, lane)))
    frame = kernel_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")
