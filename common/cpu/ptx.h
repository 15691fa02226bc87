/* ptx.h - a piece of inline PTX, taken apart; internal to the library.
 *
 *     ptx_parse.cpp    text to instructions
 *     ptx.cpp          one instruction: registers, arithmetic
 *     ptx_values.h     values by their types
 *     ptx_bits.cpp     products, conversions, bits
 *     ptx_memory.cpp   loads, stores, atomics
 *     ptx_warp.cpp     what the lanes of a warp do together
 */
#ifndef WBCPU_PTX_PARTS_H
#define WBCPU_PTX_PARTS_H
#include "scheduler.h"

#include <string>
#include <vector>

namespace wbcpu
{
struct ptx_operand {
    enum { OPERAND, REGISTER, NUMBER, SPECIAL, LIST, SINK } kind = SINK;
    int index = 0;           /* of an operand (%0) or a register */
    uint64_t number = 0;     /* also the offset of an address: [%0 + 16] */
    std::string name;        /* of a special register */
    std::vector<ptx_operand> list;
};
struct ptx_instruction {
    std::string text;               /* for messages */
    std::vector<std::string> parts; /* cp async cg shared global */
    std::vector<ptx_operand> operands;
    bool predicated = false, negated = false;
    ptx_operand predicate;

    bool has(const char *part) const
    {
        for (const std::string &p : parts)
            if (p == part) return true;
        return false;
    }
    const std::string &type() const /* the last part: u32, f16x2, ... */
    {
        return parts.back();
    }
};
struct ptx_code {
    std::vector<ptx_instruction> instructions;
    int registers = 0;
    std::string error; /* what could not be read */
};
const ptx_code &parse_ptx(const char *text); /* each text once */

struct ptx_run {
    wbcpu_ptx_operand *operands;
    int count;
    std::vector<uint64_t> registers;
    bool carry = false;

    uint64_t get(const ptx_operand &o) const;
    void set(const ptx_operand &o, uint64_t value);
};
int ptx_bytes(const std::string &type); /* of an element; 0: no such type */
/* Of integers. .hi: the upper half, .wide: all of it */
uint64_t ptx_product(const ptx_instruction &i, uint64_t a, uint64_t b);
uint64_t ptx_convert(const ptx_instruction &i, uint64_t from);
/* false: not such an instruction */
bool ptx_on_bits(
    const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *r);
bool run_memory_ptx(ptx_run &run, const ptx_instruction &i);
bool run_warp_ptx(ptx_run &run, const ptx_instruction &i);
}  // namespace wbcpu
#endif
