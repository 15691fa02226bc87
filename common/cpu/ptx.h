/* ptx.h - a piece of inline PTX, taken apart; internal to the library.
 *
 *     ptx_parse.cpp       text to instructions
 *     ptx.cpp             executes them, chooses their functions
 *     ptx_values.h        values by their types
 *     ptx_arithmetic.cpp  arithmetic, bits, comparisons
 *     ptx_convert.cpp     conversions, multiplication, carries
 *     ptx_memory.cpp      loads, stores, atomics
 *     ptx_warp.cpp        what the lanes of a warp do together
 *
 * Each text is parsed once. All decisions that depend on it alone are made then: each
 * instruction gets a function for its types, and each operand a place in a table. */
#ifndef WBCPU_PTX_PARTS_H
#define WBCPU_PTX_PARTS_H
#include "include/wbcpu/mma.h"
#include "scheduler.h"

#include <string>
#include <vector>

namespace wbcpu
{
/* Where a value is */
struct ptx_slot {
    enum { OPERAND /* %0 */, REGISTER, CONSTANT } table = CONSTANT;
    int index = 0;
};
struct ptx_operand {
    std::vector<ptx_slot> slots; /* of a list {a, b} or d|p; otherwise one */
    bool is_list = false, is_predicate = false;
    uint64_t offset = 0; /* of an address: [%0 + 16] */
};
struct ptx_instruction;
inline uint64_t &value_at(const wbcpu_ptx_run &run, ptx_slot s)
{
    return run.tables[s.table][s.index];
}
struct ptx_run : wbcpu_ptx_run {
    const wbcpu_ptx_site *site;
    bool carry;

    uint64_t &at(ptx_slot s) const
    {
        return value_at(*this, s);
    }
    uint64_t get(const ptx_operand &o) const
    {
        return at(o.slots[0]);
    }
};
/* Computes the first operand from the others. */
typedef uint64_t (*ptx_value)(
    const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
typedef void (*ptx_action)(ptx_run &run, const ptx_instruction &i);

struct ptx_instruction {
    /* What executes it: action if it is set, else value */
    ptx_action action = nullptr;
    ptx_value value = nullptr;
    ptx_slot first[5];                 /* of each operand, for value */
    std::vector<ptx_operand> operands; /* followed by zeros: at least 5 */
    size_t given = 0;
    bool predicated = false, negated = false;
    ptx_slot predicate;
    /* What action and value need from the text */
    bool shared = false;    /* an address in shared memory */
    int bits = 0;           /* of the type */
    bool is_signed = false; /* the type */
    bool flag = false;      /* this and number: see the action or value */
    int number = 0;
    wbcpu_together together = nullptr;
    const wbcpu_mma_kind *product = nullptr;

    std::string text;               /* for messages */
    std::vector<std::string> parts; /* cp async cg shared global */

    bool has(const char *part) const
    {
        for (const std::string &p : parts)
            if (p == part) return true;
        return false;
    }
    const std::string &op() const
    {
        return parts[0];
    }
    const std::string &type() const /* the last part: u32, f16x2, ... */
    {
        return parts.back();
    }
};
struct ptx_code {
    std::vector<ptx_instruction> instructions;
    std::vector<uint64_t> constants = {0};
    int operands = 0;  /* 1 + the last one that occurs */
    int registers = 1; /* register 0: _, whose value is not used */
    std::string error; /* what could not be read */
};
ptx_code parse_ptx(const char *text);
int ptx_bytes(const std::string &type); /* of an element; 0: no such type */

/* Set i.action or i.value, if it is such an instruction. */
void find_special(ptx_instruction &i); /* i.text names a special register */
void find_arithmetic(ptx_instruction &i);
void find_conversion(ptx_instruction &i);
void find_memory(ptx_instruction &i);
void find_warp(ptx_instruction &i);
/* The value of add, min, and, cas, ... of two numbers of the type, or NULL */
ptx_value ptx_operation(const std::string &op, const std::string &type);
}  // namespace wbcpu
#endif
