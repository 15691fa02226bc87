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
SPLIT_LINES = ("the copies do not begin at a multiple of 128 bytes in shared memory, so "
               "a sector of each line arrives in two parts; this counter counts both")
UNUSED = "nvcc removes the load of seed and pos, which this kernel does not use"
BOTH_ARMS = "both arms of a condition contain the load; nvcc loads once, before it"
INSIDE_ONLY = ("probably: nvcc moves the loads of results into the condition under which "
               "they are used, that they lie inside the matrix")
SPIN = ("atomicAdd on 64 bits is a loop of load and compare-and-swap (ATOMS.CAST.SPIN), "
        "which check mode counts once")
MBARRIER = ("check mode counts what a thread reads and writes of an mbarrier; on the GPU "
            "these are other instructions, which this counter does not count")
GENERIC = ("nvcc does not see that the address lies in shared memory, and uses LD and ST "
           "in place of LDS and STS; such a request takes more wavefronts")
TWO_STORES = "nvcc stores two or four neighbouring floats with one instruction"
POLLS = ("a block that waits for the chunk before its own reads again; in check mode blocks "
         "run one after another, and that chunk is finished")
POPC = ("atomicAdd(p, 1u) becomes ATOMS.POPC.INC, which adds up the lanes of one word "
        "first; check mode counts them one after another")

# (program, kernel, counter, why); the first one that fits
NOTES = [
    ("attention.04_mma", "*", "global load sectors", SPLIT_COPIES),
    ("kvcache.solution", "tensor_kernel", "global load sectors", SPLIT_COPIES),
    ("rglru.solution", "*_mma", "global load sectors", SPLIT_COPIES),
    ("rglru.solution", "step_tensor", "global load sectors", "probably: " + SPLIT_COPIES),
    ("softmax.solution", "entropy_long_kernel", "global load sectors",
     "probably: " + SPLIT_LINES),
    ("softmax.solution", "entropy_long_kernel", "shared store *", VARIES),

    ("attention.04_mma", "*", "shared store *", VARIES),
    ("attention.solution", "dq_kernel", "shared *", VARIES),
    ("attention.*", "hopper_dq_kernel", "shared *", MBARRIER),
    ("attention.*", "hopper_kernel", "shared *", MBARRIER),
    ("attention.06_tma", "*", "shared *", MBARRIER),
    ("attention.solution", "hopper_*", "shared atomic wavefronts", MBARRIER),
    ("attention.solution", "hopper_*", "global store *", FOUR_STORES),
    ("attention.solution", "hopper_backward_kernel", "shared *", GENERIC),
    ("attention.solution", "dkdv_kernel", "shared store *", VARIES),
    ("kvcache.solution", "tensor_kernel", "shared store *", VARIES),
    ("rglru.solution", "backward_chunks", "shared load *", VARIES),
    ("rglru.solution", "scan_chunks", "shared *", VARIES),
    ("softmax.0[34]*", "softmax_kernel", "shared *", VARIES),
    ("softmax.0[234]*", "backward_kernel", "shared *", VARIES),
    ("softmax.solution", "backward_kernel", "shared store *", VARIES),
    ("kvcache.solution", "top_k_kernel", "shared store conflicts", VARIES),

    ("rglru.solution", "conv1d_*", "global store *", FOUR_STORES),
    ("rglru.solution", "gates_*ward", "global store *", FOUR_STORES),

    ("attention.01_naive", "softmax_kernel", "global *", UNROLLED),
    ("softmax.01*", "softmax_kernel", "global *", UNROLLED),
    ("swiglu.02_rows", "backward_kernel", "global *", UNROLLED),
    ("rmsnorm.0[23]*", "*_rows", "global *", UNROLLED),

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
    ("kvcache.solution", "argmax_kernel", "shared load wavefronts",
     "probably: nvcc loads two of the warps' parts with one instruction"),
    ("rglru.solution", "*_tile", "shared load wavefronts", FOUR_FLOATS),
    ("rmsnorm.*", "forward_rows", "shared load wavefronts", FOUR_FLOATS),
    ("rmsnorm.*", "dx_rows", "shared load wavefronts", FOUR_FLOATS),
    ("rmsnorm.*", "*_any_width", "shared load wavefronts", FOUR_FLOATS),
    ("softmax.solution", "*_long_kernel", "shared load *", FOUR_FLOATS),
    ("basics.02_banks", "sum_rows_kernel", "shared load *",
     "in the first step, nvcc loads the two neighbours that a thread adds together"),
    ("kvcache.solution", "tensor_kernel", "shared load *", FOUR_FLOATS),
    ("rglru.solution", "conv1d_backward", "shared store *", TWO_STORES),
    ("rglru.solution", "*_mma", "shared load wavefronts", INSIDE_ONLY),
    ("rglru.solution", "*_chunks", "shared store wavefronts",
     "nvcc writes two members of a struct with one instruction"),

    ("rmsnorm.0[34]*", "dw_partial", "global load *",
     "rstd[row] is read for each element of a vector; nvcc reads it once"),
    ("rglru.03_walk", "conv1d_walk_back", "global load *", IN_REGISTER),
    ("attention.0[56]*", "gradient_kernel", "global load *",
     IN_REGISTER + ": the row of a query, which many scores need"),
    ("kvcache.03_split", "part_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.solution", "plain_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.solution", "tensor_kernel", "global load requests", IN_REGISTER + ": pos"),
    ("kvcache.0[12]*", "store_kernel", "global load *", BOTH_ARMS),
    ("kvcache.solution", "highest_kernel", "global load *", UNUSED),
    ("kvcache.solution", "argmax_kernel", "global load *", UNUSED),
    ("kvcache.solution", "bins_kernel", "global load *", UNUSED),
    ("kvcache.solution", "sample_kernel", "global load *",
     "row_of runs before and after pdl_wait; nvcc removes the first loads"),
    ("rope.*", "table_kernel", "global load *",
     "sin, cos and pow of double read tables of coefficients"),

    ("kvcache.04*", "sample_kernel", "shared load *", SPIN),
    ("kvcache.04*", "sample_kernel", "shared atomic wavefronts", f"{SPIN}; {POPC}"),
    ("kvcache.solution", "sample_kernel", "shared atomic wavefronts", f"{SPIN}; {POPC}"),
    ("kvcache.solution", "sample_kernel", "shared load wavefronts", SPIN),
    ("kvcache.solution", "top_k_kernel", "shared load wavefronts", MBARRIER),
    ("kvcache.solution", "top_k_kernel", "shared atomic wavefronts",
     f"{POPC}; {MBARRIER}"),
    ("kvcache.solution", "bins_kernel", "shared atomic wavefronts", POPC),
    ("kvcache.solution", "bins_kernel", "shared load wavefronts",
     "1 of 117 per block, and requests that check mode splits where lanes disagree"),
    ("rglru.solution", "gates_wgmma", "shared store wavefronts", MBARRIER),
    ("rglru.solution", "gates_wgmma", "shared atomic wavefronts", MBARRIER),
    ("rglru.solution", "gates_wgmma", "shared load *", f"{MBARRIER}; {VARIES}"),
    ("rglru.solution", "gates_wgmma", "shared store conflicts", VARIES),
    ("rglru.solution", "*_walk", "shared store conflicts", VARIES),
    ("rglru.solution", "*_walk", "shared *", MBARRIER),
    ("rglru.solution", "forward_chunks", "global load *", POLLS),
    ("rglru.solution", "*_stream", "global load *", POLLS),
    ("rglru.solution", "forward_chunks", "shared load *", VARIES),
    ("rglru.solution", "*_stream", "shared * conflicts", "probably: " + VARIES),
    ("rglru.solution", "*_stream", "shared store *", "probably: " + VARIES),
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
