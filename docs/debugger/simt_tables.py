"""How the `simt` commands lay out what they show: ranges of threads, a warp's values, a table."""

import re

import gdb

MOST_ROWS = 64


def groups(items, key):
    """Neighbours that have the same key, as (key, items)."""
    found = []
    for item in items:
        if found and found[-1][0] == key(item):
            found[-1][1].append(item)
        else:
            found.append((key(item), [item]))
    return found


def span_of(first, last):
    """ " 5", "s 0 to 4" """
    return " %d" % first if first == last else "s %d to %d" % (first, last)


def span(lanes):
    """ "s 0 to 4"; with the coordinates where a flat index does not say enough."""
    first, last = lanes[0], lanes[-1]
    text = span_of(first.index, last.index)
    if last.thread_idx == (last.index, 0, 0):
        return text
    ends = ["(%d, %d, %d)" % end.thread_idx for end in (first, last)]
    return text + ", " + (ends[0] if first is last else " to ".join(ends))


def text_of_value(value):
    """On one line; of a NaN only that it is one."""
    text = " ".join(value.format_string().split())
    return re.sub(r"-?nan\(0x[0-9a-f]+\)", "nan", text)


def print_row(values):
    """The values of a warp, some to a line, each line with the lanes that it holds."""
    width = max(len(value) for value in values)
    in_a_row = 8 if width <= 10 else 4 if width <= 20 else 1
    for first in range(0, len(values), in_a_row):
        row = values[first : first + in_a_row]
        label = "%2d to %2d" % (first, first + len(row) - 1) if in_a_row > 1 else "%2d" % first
        print("  %s  %s" % (label, " ".join("%*s" % (width, value) for value in row)))


def elements(array):
    low, high = array.type.strip_typedefs().range()
    return [array[i] for i in range(low, high + 1)]


def is_array(value):
    return value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY


def print_table(name, array, columns):
    """One row for each row of a table; of a plain array, `columns` elements in a row."""
    items = elements(array)
    print("%s %s" % (name, array.type))
    if items and is_array(items[0]):
        rows = [[text_of_value(value) for value in elements(row)] for row in items[:MOST_ROWS]]
        labels = [str(i) for i in range(len(rows))]
    else:
        texts = [text_of_value(value) for value in items[: MOST_ROWS * columns]]
        starts = range(0, len(texts), columns)
        rows = [texts[start : start + columns] for start in starts]
        labels = [str(start) for start in starts]
    print_grid(rows, labels)
    shown = sum(len(row) for row in rows)
    total = array.type.strip_typedefs().sizeof // innermost(array.type).sizeof
    if shown < total:
        print("%d more; `print` shows parts of an array." % (total - shown))


def innermost(kind):
    kind = kind.strip_typedefs()
    return innermost(kind.target()) if kind.code == gdb.TYPE_CODE_ARRAY else kind


def print_grid(rows, labels):
    """Columns with their numbers above, rows with their labels in front."""
    num_columns = max(len(row) for row in rows)
    width = max([len(text) for row in rows for text in row] + [len(str(num_columns - 1))])
    side = max(len(label) for label in labels)
    print("  %*s | %s" % (side, "", " ".join("%*d" % (width, i) for i in range(num_columns))))
    for label, row in zip(labels, rows):
        print("  %*s | %s" % (side, label, " ".join("%*s" % (width, text) for text in row)))
