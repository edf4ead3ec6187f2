"""gdb printers for pagelab: tensors with their decoded values, block tables, caches, a whole step;
and the commands of simt_commands.py for kernels in the simulator. Load it with
`source docs/debugger/pagelab_gdb.py`; `./pagelab debug N` and .vscode/launch.json do that.

What is printed reads as the to_string of the same type in C++ does. tests/debugger checks it.
"""

import math
import os
import struct
import sys

import gdb
import gdb.printing

SHOWN = 6  # values of an array, as in to_string(Tensor)


# --- Values of the small formats -----------------------------------------------------------------


def float16(code):
    return struct.unpack("<e", struct.pack("<H", code))[0]


def bfloat16(code):
    """A bfloat16 is the upper half of a float32."""
    return struct.unpack("<f", struct.pack("<I", code << 16))[0]


def fp8_e4m3(code):
    """1 sign, 4 exponent, 3 mantissa bits; no infinity; the largest code is NaN."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = (code >> 3) & 0xF, code & 7
    if exponent == 0xF and mantissa == 7:
        return math.nan
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (8 + mantissa) * 2.0 ** (exponent - 10)


def fp8_e5m2(code):
    """An e5m2 is the upper half of a float16."""
    return float16(code << 8)


# name, as to_string(DType) has it -> (bytes of an element, its value from these bytes)
FORMATS = {
    "float64": (8, lambda raw: struct.unpack("<d", raw)[0]),
    "float32": (4, lambda raw: struct.unpack("<f", raw)[0]),
    "float16": (2, lambda raw: float16(int.from_bytes(raw, "little"))),
    "bfloat16": (2, lambda raw: bfloat16(int.from_bytes(raw, "little"))),
    "fp8_e4m3": (1, lambda raw: fp8_e4m3(raw[0])),
    "fp8_e5m2": (1, lambda raw: fp8_e5m2(raw[0])),
    "int32": (4, lambda raw: int.from_bytes(raw, "little", signed=True)),
    "int64": (8, lambda raw: int.from_bytes(raw, "little", signed=True)),
    "uint8": (1, lambda raw: raw[0]),
    "uint16": (2, lambda raw: int.from_bytes(raw, "little")),
}

# C++ element type of a TensorView -> the same name
NAME_OF_TYPE = {
    "double": "float64",
    "float": "float32",
    "pagelab::Float16": "float16",
    "pagelab::BFloat16": "bfloat16",
    "pagelab::Fp8E4M3": "fp8_e4m3",
    "pagelab::Fp8E5M2": "fp8_e5m2",
    "int": "int32",
    "long": "int64",
    "unsigned char": "uint8",
    "unsigned short": "uint16",
}


def dtype_name(value):
    """pagelab::DType::kFp8E4M3 -> "fp8_e4m3"."""
    enumerator = str(value).rsplit("::k", 1)[-1].lower()
    return {"fp8e4m3": "fp8_e4m3", "fp8e5m2": "fp8_e5m2"}.get(enumerator, enumerator)


def read_elements(address, name, element_offsets):
    """The elements at these offsets (in elements) from an address, as Python numbers."""
    size, decode = FORMATS[name]
    memory = gdb.selected_inferior()
    return [
        decode(bytes(memory.read_memory(address + offset * size, size)))
        for offset in element_offsets
    ]


def as_list(values, total):
    """ "1, 2.5, nan, ..." """
    text = ", ".join("%.6g" % value for value in values)
    return text + ", ..." if total > len(values) else text


# --- The standard library, as libstdc++ lays it out ----------------------------------------------


def vector_size(vector):
    return int(vector["_M_impl"]["_M_finish"] - vector["_M_impl"]["_M_start"])


def vector_items(vector):
    first = vector["_M_impl"]["_M_start"]
    return [first[i] for i in range(vector_size(vector))]


def numbers(vector):
    return [int(item) for item in vector_items(vector)]


def array_items(array):
    elements = array["_M_elems"]
    low, high = elements.type.strip_typedefs().range()
    return [int(elements[i]) for i in range(low, high + 1)]


# --- Printers ------------------------------------------------------------------------------------


class SmallFloatPrinter:
    """Float16, BFloat16, Fp8E4M3, Fp8E5M2: "1.5 (0x3e00)"."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        size, decode = FORMATS[NAME_OF_TYPE[self.value.type.strip_typedefs().unqualified().name]]
        bits = int(self.value["bits"])
        return "%.6g (0x%0*x)" % (decode(bits.to_bytes(size, "little")), 2 * size, bits)


class TensorPrinter:
    """ "bfloat16 [2, 3]: 1, -2.5, ..." """

    def __init__(self, value):
        self.value = value

    def to_string(self):
        name = dtype_name(self.value["dtype_"])
        total = int(self.value["size_"])
        address = int(self.value["bytes_"]["bytes_"])
        values = read_elements(address, name, range(min(total, SHOWN)))
        text = "%s %s:" % (name, numbers(self.value["shape_"]))
        return text + " " + as_list(values, total) if values else text


class TensorViewPrinter:
    """ "float32 [2, 3] strides [6, 1]: 1, 2.5, ...", in the order of the indices, not of memory."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        element = self.value.type.strip_typedefs().template_argument(0)
        name = NAME_OF_TYPE.get(element.strip_typedefs().unqualified().name)
        shape = array_items(self.value["shape"])
        strides = array_items(self.value["strides"])
        total = math.prod(shape)
        text = "%s %s strides %s:" % (name or element, shape, strides)
        if name is None or total <= 0 or int(self.value["data"]) == 0:
            return text
        offsets = [self.offset(i, shape, strides) for i in range(min(total, SHOWN))]
        return text + " " + as_list(read_elements(int(self.value["data"]), name, offsets), total)

    @staticmethod
    def offset(flat_index, shape, strides):
        """Elements from the first one to the one at this place in index order."""
        offset = 0
        for length, stride in zip(reversed(shape), reversed(strides)):
            offset += flat_index % length * stride
            flat_index //= length
        return offset


def table_rows(table):
    """Each request's blocks, up to the last used entry: "[6 1 4]"."""
    entries, width = numbers(table["entries"]), int(table["max_blocks_per_req"])
    rows = []
    for req_idx in range(int(table["num_reqs"])):
        row = entries[req_idx * width : (req_idx + 1) * width]
        while row and row[-1] == -1:
            row.pop()
        rows.append("[" + " ".join(str(block) for block in row) + "]")
    return rows


class BlockTablePrinter:
    """ "2 requests, up to 3 blocks" and below it a row a request."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "%d requests, up to %d blocks" % (
            int(self.value["num_reqs"]),
            int(self.value["max_blocks_per_req"]),
        )

    def children(self):
        for req_idx, row in enumerate(table_rows(self.value)):
            yield "request %d" % req_idx, row


class KvCachePrinter:
    """ "8 blocks of 4 tokens, 2 KV heads, 64 + 64 elements, float32, NHD, apart", and the arrays."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        spec = self.value["spec_"]
        order = str(spec["layout"]["order"]).rsplit("::k", 1)[-1]
        packing = str(spec["layout"]["packing"]).rsplit("::k", 1)[-1]
        packing = {"OneRow": "one row", "InterleavedByBlock": "interleaved by block"}.get(
            packing, packing.lower()
        )
        return "%d blocks of %d tokens, %d KV heads, %d + %d elements, %s, %s, %s" % (
            int(spec["num_blocks"]),
            int(spec["block_size"]),
            int(spec["num_kv_heads"]),
            int(spec["head_size"]),
            int(spec["head_size_v"]),
            dtype_name(spec["dtype"]),
            order,
            packing,
        )

    def children(self):
        arrays = vector_items(self.value["arrays_"])
        names = ("keys", "values") if len(arrays) == 2 else ("keys and values",)
        yield from zip(names, arrays)
        yield "k_scale", self.value["k_scale"]
        yield "v_scale", self.value["v_scale"]


class MetadataPrinter:
    """ "2 requests, 3 tokens" and below it, for each request, its tokens, its length, its blocks."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        starts = numbers(self.value["query_start_loc"])
        num_reqs = vector_size(self.value["seq_lens"])
        return "%d requests, %d tokens" % (num_reqs, starts[-1] if starts else 0)

    def children(self):
        starts = numbers(self.value["query_start_loc"])
        rows = table_rows(self.value["block_table"])
        for req_idx, seq_len in enumerate(numbers(self.value["seq_lens"])):
            # A step in the making may have arrays that do not fit together.
            begin, end = (starts[req_idx : req_idx + 2] + ["?", "?"])[:2]
            row = rows[req_idx] if req_idx < len(rows) else "[?]"
            yield "request %d" % req_idx, "tokens %s to %s, seq_len %d, blocks %s" % (
                begin,
                end,
                seq_len,
                row,
            )
        yield "slot_mapping", self.value["slot_mapping"]


class StepPrinter:
    """One line, and below it the arrays, the cache, the batch and the variant."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        query = self.value["query"]
        return "attention step, query %s %s" % (
            dtype_name(query["dtype_"]),
            numbers(query["shape_"]),
        )

    def children(self):
        for name in ("query", "key", "value", "cache", "metadata", "variant"):
            yield name, self.value[name]


class CoordinatesPrinter:
    """threadIdx and its like: "(3, 0, 1)"."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "(%d, %d, %d)" % tuple(int(self.value[axis]) for axis in "xyz")


def build_printers():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("pagelab")
    for name, printer in (
        ("Float16|BFloat16|Fp8E4M3|Fp8E5M2", SmallFloatPrinter),
        ("Tensor", TensorPrinter),
        ("TensorView<.*>", TensorViewPrinter),
        ("BlockTable", BlockTablePrinter),
        ("KvCache", KvCachePrinter),
        ("CommonAttentionMetadata", MetadataPrinter),
        ("AttentionStep", StepPrinter),
        ("simt::(uint3|dim3)", CoordinatesPrinter),
    ):
        printers.add_printer(name, "^pagelab::(%s)$" % name, printer)
    return printers


# --- What is loaded -------------------------------------------------------------------------------

SETTINGS = """
set print pretty on
set print static-members off
skip -rfu ^(std|__gnu_cxx|Eigen|fmt|nlohmann)::
"""

# A step goes into our functions, not into those of the standard library, Eigen and the like. By name: the
# rules for files know no folders in folders.
for setting in SETTINGS.strip().splitlines():
    gdb.execute(setting, to_string=True)
gdb.printing.register_pretty_printer(gdb.current_objfile(), build_printers(), replace=True)

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import simt_commands  # noqa: E402: it lies beside this file

simt_commands.install()
