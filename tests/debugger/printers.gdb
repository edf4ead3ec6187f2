# Prints one value of each type; printers.cmake runs this and compares what it printed.
set pagination off
set print address off
set startup-with-shell off
set disable-randomization off
break small_step
run
finish
next
echo ---\n
output doubles
echo \n
output bfloat16s
echo \n
output float16s
echo \n
output e4m3s
echo \n
output e5m2s
echo \n
output indices
echo \n
output empty
echo \n
output view
echo \n
output columns
echo \n
output one_and_a_half
echo \n
output step.metadata.block_table
echo \n
output step
echo \n
simt break count_thread 2 3,1
continue
simt thread
output pagelab::simt::threadIdx
echo \n
output pagelab::simt::blockDim
echo \n---\n
kill
