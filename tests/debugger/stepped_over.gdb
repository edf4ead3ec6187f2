# Steps through sum_by_libraries, a line at a time: what `step` must not enter would be seen in between.
set pagination off
set width 0
set startup-with-shell off
set disable-randomization off
tbreak sum_by_libraries
run

echo ---\n
echo === over the standard library\n
step
step
echo === over Eigen\n
step
step
echo === into a function of ours\n
step
echo ---\n
kill
