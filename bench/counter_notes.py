"""counter_notes.py - why check mode and Nsight Compute count differently, for the table
of check_counters.py. What they say about nvcc is read from the code that nvcc 13.0
generates for sm_90 (nvdisasm -g), unless the text says "probably"."""
from fnmatch import fnmatch

SPLIT_COPIES = ("the rows of the tile are padded by 16 bytes, so half of the sectors "
                "reach shared memory in two parts; this counter counts both")
VARIES = ("ncu counts some conflicts of addresses that have none; their number varies "
          "between equal launches")
FOUR_FLOATS = "nvcc loads four neighbouring floats (or ints) with one instruction"
FOUR_STORES = ("nvcc splits the store of a vector that was just computed into stores of "
               "4 bytes")
UNROLLED = ("nvcc unrolls the loop; where the lanes need different numbers of "
            "iterations, copies of its body run one after another")
IN_REGISTER = "the source reads a value again that nvcc keeps in a register"
UNUSED = "nvcc removes the load of seed and pos, which this kernel does not use"
BOTH_ARMS = "both arms of a condition contain the load; nvcc loads once, before it"
INSIDE_ONLY = ("probably: nvcc moves the loads of results into the condition under which "
               "they are used, that they lie inside the matrix")
SPIN = ("atomicAdd on 64 bits is a loop of load and compare-and-swap (ATOMS.CAST.SPIN), "
        "which check mode counts once")
POPC = ("atomicAdd(p, 1u) becomes ATOMS.POPC.INC, which adds up the lanes of one word "
        "first; check mode counts them one after another")

# (program, kernel, counter, why); the first one that fits
NOTES = [
    ("attention.04_mma", "*", "global load sectors", SPLIT_COPIES),
    ("kvcache.solution", "tensor_kernel", "global load sectors", SPLIT_COPIES),
    ("rglru.solution", "*_mma", "global load sectors", SPLIT_COPIES),

    ("attention.04_mma", "*", "shared store *", VARIES),
    ("attention.solution", "dq_kernel", "shared *", VARIES),
    ("attention.solution", "dkdv_kernel", "shared store *", VARIES),
    ("kvcache.solution", "tensor_kernel", "shared store *", VARIES),
    ("rglru.solution", "backward_chunks", "shared load *", VARIES),
    ("softmax.0[34]*", "softmax_kernel", "shared *", VARIES),

    ("rglru.solution", "conv1d_*", "global store *", FOUR_STORES),
    ("rglru.solution", "gates_*ward", "global store *", FOUR_STORES),

    ("attention.01_naive", "softmax_kernel", "global *", UNROLLED),
    ("softmax.01*", "softmax_kernel", "global *", UNROLLED),
    ("swiglu.02_rows", "backward_kernel", "global *", UNROLLED),

    ("attention.02_tiled", "*", "shared load wavefronts", FOUR_FLOATS),
    ("attention.03_wmma", "*", "shared load *",
     FOUR_FLOATS + " in store_out; about a tenth of the difference is not understood"),
    ("attention.04_mma", "*", "shared load wavefronts", FOUR_FLOATS),
    ("attention.solution", "attention_kernel", "shared load *",
     "nvcc reads the two bounds of a row with one access of 8 bytes, half the conflicts"),
    ("attention.solution", "tiled_*", "shared load wavefronts", FOUR_FLOATS),
    ("kvcache.02*", "head_kernel", "shared load wavefronts", FOUR_FLOATS),
    ("kvcache.solution", "plain_kernel", "shared load wavefronts", FOUR_FLOATS),
    ("kvcache.solution", "short_kernel", "shared load wavefronts", FOUR_FLOATS),
    ("kvcache.solution", "short_kernel", "shared store wavefronts",
     "nvcc stores four neighbouring floats with one instruction"),
    ("kvcache.solution", "best_kernel", "shared load wavefronts",
     "nvcc loads two of the warps' parts with one instruction"),
    ("rglru.solution", "*_tile", "shared load wavefronts", FOUR_FLOATS),
    ("rmsnorm.*", "forward_rows", "shared load wavefronts", FOUR_FLOATS),
    ("rmsnorm.*", "dx_rows", "shared load wavefronts", FOUR_FLOATS),
    ("rglru.solution", "*_mma", "shared load wavefronts", INSIDE_ONLY),
    ("rglru.solution", "*_chunks", "shared store wavefronts",
     "nvcc writes two members of a struct with one instruction"),

    ("rmsnorm.0[34]*", "dw_partial", "global load *",
     "rstd[row] is read for each element of a vector; nvcc reads it once"),
    ("rglru.03_walk", "conv1d_walk_back", "global load *", IN_REGISTER),
    ("kvcache.03_split", "part_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.solution", "plain_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.solution", "tensor_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.0[12]*", "store_kernel", "global load *", BOTH_ARMS),
    ("kvcache.solution", "highest_kernel", "global load *", UNUSED),
    ("kvcache.solution", "bins_kernel", "global load *", UNUSED),
    ("kvcache.solution", "sample_kernel", "global load *",
     "row_of runs before and after pdl_wait; nvcc removes the first loads"),
    ("rope.*", "table_kernel", "global load *",
     "sin, cos and pow of double read tables of coefficients"),

    ("kvcache.04*", "sample_kernel", "shared load *", SPIN),
    ("kvcache.04*", "sample_kernel", "shared atomic wavefronts", f"{SPIN}; {POPC}"),
    ("kvcache.solution", "sample_kernel", "shared atomic wavefronts", f"{SPIN}; {POPC}"),
    ("kvcache.solution", "bins_kernel", "shared atomic wavefronts", POPC),
    ("kvcache.04*", "sample_kernel", "global load *",
     "probably: expf differs in its last bits, and the search with top_p ends after one "
     "pass over the logits less"),
    ("kvcache.04*", "sample_kernel", "shared store wavefronts",
     "nvcc removes the stores to sums[] where only counts[] is used"),
]


def reason(program, kernel, counter):
    """Why this row differs; empty: not understood."""
    for note in NOTES:
        if all(fnmatch(name, pattern)
               for name, pattern in zip((program, kernel, counter), note)):
            return note[3]
    return ""
