/* ptx_parse.cpp - reads inline PTX: statements that end in ';', registers, predicates,
 * lists {a, b} and addresses [a + 16]. No labels, branches or functions. */
#include "ptx.h"

#include <map>

namespace wbcpu
{
struct reader {
    const char *p;
    struct declared {
        int index;
        bool is_predicate;
    };
    std::map<std::string, declared> names; /* of registers */
    ptx_code code;
    enum { MAX_REGISTERS = 1000 /* they lie on the thread's stack */ };

    void blanks()
    {
        for (;;) {
            while (isspace((unsigned char)*p))
                p++;
            if (p[0] == '/' && p[1] == '/')
                while (*p && *p != '\n')
                    p++;
            else if (p[0] == '/' && p[1] == '*')
                for (p += 2; *p && !(p[-2] == '*' && p[-1] == '/' && p[-3]); p++) {
                }
            else
                return;
        }
    }
    bool take(char c)
    {
        blanks();
        if (*p != c) return false;
        p++;
        return true;
    }
    std::string word() /* letters, digits, _ and $ */
    {
        blanks();
        std::string w;
        while (isalnum((unsigned char)*p) || *p == '_' || *p == '$')
            w += *p++;
        return w;
    }
    void fail(const std::string &what)
    {
        if (code.error.empty()) code.error = what;
        p += strlen(p);
    }

    uint64_t number()
    {
        char *end;
        uint64_t n;
        bool minus = *p == '-';
        const char *digits = p + minus;
        if (digits[0] == '0' &&
            (digits[1] == 'f' || digits[1] == 'F' || digits[1] == 'd' ||
             digits[1] == 'D')) { /* the bits of a float, a double */
            n = strtoull(digits + 2, &end, 16);
        } else {
            n = strtoull(digits, &end, 0);
            if (minus) n = -n;
        }
        if (*end == 'U') end++;
        p = end;
        return n;
    }
    static ptx_operand at(decltype(ptx_slot::table) table, int index)
    {
        ptx_operand o;
        o.slots.resize(1);
        o.slots[0].table = table, o.slots[0].index = index;
        return o;
    }
    ptx_operand constant(uint64_t n)
    {
        code.constants.push_back(n);
        return at(ptx_slot::CONSTANT, (int)code.constants.size() - 1);
    }
    int new_register()
    {
        if (code.registers == MAX_REGISTERS)
            fail("more than " + std::to_string(MAX_REGISTERS) + " registers");
        return code.registers == MAX_REGISTERS ? 0 : code.registers++;
    }
    /* An instruction before this one reads it into a register. */
    ptx_operand special(const std::string &name)
    {
        ptx_instruction i;
        ptx_operand o = at(ptx_slot::REGISTER, new_register());
        i.text = name;
        i.operands.push_back(o);
        find_special(i);
        if (!i.value) fail("the special register %" + name);
        code.instructions.push_back(i);
        return o;
    }
    void append(ptx_operand &list, const ptx_operand &o)
    {
        list.is_list = true;
        list.slots.insert(list.slots.end(), o.slots.begin(), o.slots.end());
    }
    ptx_operand percent() /* %0, %name, %tid.x */
    {
        p += p[1] == '%' ? 2 : 1;
        if (isdigit((unsigned char)*p)) {
            ptx_operand o =
                at(ptx_slot::OPERAND, (int)strtol(p, const_cast<char **>(&p), 10));
            if (o.slots[0].index >= code.operands) code.operands = o.slots[0].index + 1;
            return o;
        }
        std::string name = word();
        if (names.count(name)) return register_of(name);
        while (*p == '.')
            name += *p++, name += word();
        return special(name);
    }
    ptx_operand address() /* after '[' */
    {
        ptx_operand o = operand();
        blanks();
        if (*p == '-')
            o.offset = number();
        else if (take('+')) {
            blanks();
            o.offset = number();
        }
        if (!take(']')) fail("'[' without ']'");
        return o;
    }
    ptx_operand named() /* a register without % */
    {
        std::string w = word();
        if (w.empty()) fail(std::string("unexpected '") + *p + "'");
        if (w == "WARP_SZ") return constant(32);
        return w == "_" ? at(ptx_slot::REGISTER, 0) : register_of(w);
    }
    ptx_operand operand()
    {
        ptx_operand o;
        blanks();
        if (take('{')) {
            do
                append(o, operand());
            while (take(','));
            if (!take('}')) fail("'{' without '}'");
            return o;
        }
        if (take('[')) return address();
        if (*p == '!') { /* setp.eq.and.u32 p, a, b, !q; */
            fail("'!' before an operand");
            return constant(0);
        }
        o = *p == '%'                                 ? percent()
            : isdigit((unsigned char)*p) || *p == '-' ? constant(number())
                                                      : named();
        if (take('|')) append(o, operand()); /* two results: d|p */
        return o;
    }
    ptx_operand register_of(const std::string &name)
    {
        auto found = names.find(name);
        if (found == names.end()) {
            fail("the name " + name);
            return constant(0);
        }
        ptx_operand o = at(ptx_slot::REGISTER, found->second.index);
        o.is_predicate = found->second.is_predicate;
        return o;
    }
    void declaration() /* .reg .u32 a, b<4>; */
    {
        std::string what = word();
        if (what != "reg") fail("a declaration ." + what);
        take('.');
        const bool is_predicate = word() == "pred";
        do {
            if (take('%')) take('%'); /* %%p in an asm string is %p in PTX */
            std::string name = word();
            if (!take('<')) {
                names[name] = {new_register(), is_predicate};
                continue;
            }
            blanks();
            uint64_t n = number();
            for (uint64_t i = 0; i < n && code.error.empty(); i++)
                names[name + std::to_string(i)] = {new_register(), is_predicate};
            take('>');
        } while (take(','));
    }
    void instruction()
    {
        ptx_instruction i;
        const char *start = p;
        if (take('@')) {
            i.predicated = true;
            i.negated = take('!');
            i.predicate = operand().slots[0];
        }
        do
            i.parts.push_back(word());
        while (*p == '.' && p++);
        if (i.parts[0].empty()) fail(std::string("unexpected '") + *p + "'");
        blanks();
        while (*p == ':' && p[1] == ':') { /* shared::cta, L2::cache_hint */
            p += 2;
            i.parts.push_back(word());
            while (*p == '.' && p++)
                i.parts.push_back(word());
            blanks();
        }
        if (*p && *p != ';') do
                i.operands.push_back(operand());
            while (take(','));
        i.text.assign(start, (size_t)(p - start));
        code.instructions.push_back(i);
    }
    void all()
    {
        for (blanks(); *p; blanks()) {
            if (*p == '{' || *p == '}' || *p == ';')
                p++;
            else if (take('.'))
                declaration();
            else
                instruction();
        }
    }
};

ptx_code parse_ptx(const char *text)
{
    reader r = {text, {}, {}};
    r.all();
    return r.code;
}
}  // namespace wbcpu
