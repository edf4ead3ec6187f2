# Begins as `./pagelab debug 6` and `./pagelab debug 7` do, in the kernels that these stop in.
set pagination off
set width 0
set startup-with-shell off
set disable-randomization off

python
import os

def break_at(path, text, place):
    """`simt break`, and no other breakpoint, at the only line of a file of ours that has a text."""
    gdb.execute("delete")
    root = os.environ["PAGELAB_ROOT"]
    with open(os.path.join(root, path)) as lines:
        numbers = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(numbers) == 1, (path, text, numbers)
    gdb.execute("simt break %s:%d %s" % (os.path.basename(path), numbers[0], place))
end

echo ---\n
echo === lesson 6: its first kernel\n
simt kernel
simt grid

echo === the second request's second head, in lane 5\n
python break_at("gpu/kernels/paged_decode/2_warp.cuh", "query_dot_key = butterfly_sum(query_dot_key);", "1 37")
continue
simt thread
simt print query_dot_key
print row.kv_head_idx
up
print token_idx
print head_idx
print position
simt next 2

echo === what the lanes have together\n
python break_at("gpu/kernels/paged_decode/2_warp.cuh", "l = l + p;", "1 37")
continue
simt print m
print score
print p

echo === lesson 7: its kernel\n
delete
simt kernel fragments
simt threads
python break_at("lessons/07_tensor_cores/fragments.cuh", "for (int i = 0; i < 4; ++i) params.registers", "0 31")
continue
simt thread
simt print row
simt print chunk
print a[0]%65536
print a[0]/65536
print a[3]%65536

echo === to the end\n
delete
continue
echo ---\n
