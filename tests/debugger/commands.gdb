# Steps through neighbour_sum in one thread; run_gdb.cmake runs this and compares what is printed.
# Value i is i / 2, and thread block 1 begins with value 40.
set pagination off
set width 0
set startup-with-shell off
set disable-randomization off

python
def refused(command):
    """Runs a command that must be refused, and prints its sentence."""
    try:
        gdb.execute(command)
        print("%s was not refused" % command)
    except gdb.error as error:
        print(error)
end

echo ---\n
echo === before the program runs\n
python refused("simt grid")
python refused("simt break no_such_file.cuh:1 0 0")

echo === the first line of the first kernel\n
simt kernel neighbour
simt grid
simt threads

echo === a chosen thread of a chosen thread block, before the barrier\n
simt break neighbour_sum.cuh:41 1 5
continue
simt thread
simt grid
simt threads
simt print mine
simt print neighbour
simt shared table
simt shared doubles 10

echo === a thread that waits\n
simt thread 3
backtrace
print mine
print threadIdx
print threadIdx.x
up
down
print value_idx
simt lane 4
print mine
simt thread 5
print threadIdx.x

echo === the same thread, after the barrier\n
simt thread 3
simt thread 5
simt next
simt threads
simt next 2
simt print mine
simt print neighbour
simt print sum
simt shared table

echo === another one goes on\n
simt lane 8
simt next 3
simt print sum

echo === the partial warp\n
simt thread 37
simt print mine

echo === misuse\n
python refused("simt bogus")
python refused("simt grid 1")
python refused("simt threads 1")
python refused("simt thread x")
python refused("simt thread 40")
python refused("simt thread 0 1")
python refused("simt thread 0")
python refused("simt lane 8")
python refused("simt print")
python refused("simt print no_such_variable")
python refused("simt shared")
python refused("simt shared table 0")
python refused("simt shared mine")
python refused("simt shared params.values")
python refused("simt break neighbour_sum.cuh:41 1")
python refused("simt break neighbour_sum.cuh:41 1 -1")
python refused("simt break neighbour_sum.cuh:41 1,2,3,4 0")
python refused("simt next 0")

echo === to the end of a thread\n
simt thread 8
simt next 4
python refused("simt next")
simt threads

echo === a launch that fails\n
simt kernel half
simt next 3
simt threads
simt thread 9
print thread
simt print thread
python refused("simt next")

echo === to the end of the program\n
simt kernel no_such_kernel
python refused("simt threads")
echo ---\n
