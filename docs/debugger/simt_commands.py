"""gdb commands for kernels in the simulator: `help simt` lists them. pagelab_gdb.py loads them."""

import inspect
import os

import gdb

import simt_frames
from simt_going_on import Break, Kernel, Next, Step
from simt_looking import Grid, Lane, Print, Shared, Thread, Threads
from simt_records import refuse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class Simt(gdb.Command):
    """Step through kernels in the simulator: which threads there are, what each of them does, and
    what a variable is in all lanes of a warp."""

    def __init__(self):
        self.__doc__ = inspect.cleandoc(self.__doc__)
        super().__init__("simt", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        if argument:
            refuse("simt has no command '%s'; `help simt` lists them." % argument.split()[0])
        gdb.execute("help simt")


def install():
    simt_frames.install()
    # A step goes over the simulator's words, such as __syncthreads.
    gdb.execute("skip -gfi %s/simulator/simt/*" % ROOT, to_string=True)
    for command in (Simt, Grid, Threads, Thread, Lane, Print, Shared, Break, Kernel, Next, Step):
        command()
