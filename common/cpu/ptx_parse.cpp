/* ptx_parse.cpp - reads inline PTX: statements that end in ';', registers, predicates,
 * lists {a, b} and addresses [a + 16]. No labels, branches or functions. */
#include "ptx.h"

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace wbcpu
{
struct reader {
    const char *p;
    std::map<std::string, int> names; /* of registers */
    ptx_code code;

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

    ptx_operand number()
    {
        ptx_operand o;
        o.kind = ptx_operand::NUMBER;
        char *end;
        bool minus = *p == '-';
        const char *digits = p + minus;
        if (digits[0] == '0' && (digits[1] == 'f' || digits[1] == 'F' || digits[1] == 'd' ||
                                 digits[1] == 'D')) { /* the bits of a float, a double */
            o.number = strtoull(digits + 2, &end, 16);
        } else {
            o.number = strtoull(digits, &end, 0);
            if (minus) o.number = -o.number;
        }
        if (*end == 'U') end++;
        p = end;
        return o;
    }
    ptx_operand operand()
    {
        ptx_operand o;
        blanks();
        if (*p == '{' || *p == '[') {
            bool address = *p++ == '[';
            if (!address) {
                o.kind = ptx_operand::LIST;
                do
                    o.list.push_back(operand());
                while (take(','));
                if (!take('}')) fail("a list without its }");
                return o;
            }
            o = operand();
            if (take('+')) {
                blanks();
                o.number = number().number;
            }
            if (!take(']')) fail("an address without its ]");
        } else if (*p == '%') {
            p += p[1] == '%' ? 2 : 1;
            if (isdigit((unsigned char)*p)) {
                o.kind = ptx_operand::OPERAND;
                o.index = (int)strtol(p, const_cast<char **>(&p), 10);
            } else {
                o.kind = ptx_operand::SPECIAL;
                o.name = word();
                if (names.count(o.name)) o = register_of(o.name);
                while (*p == '.')
                    o.name += *p++, o.name += word();
            }
        } else if (isdigit((unsigned char)*p) || *p == '-') {
            o = number();
        } else {
            std::string w = word();
            if (w.empty()) fail(std::string("a '") + *p + "'");
            if (w == "WARP_SZ") o.kind = ptx_operand::NUMBER, o.number = 32;
            else if (w != "_") o = register_of(w);
        }
        if (take('|')) { /* two results: d|p */
            ptx_operand both;
            both.kind = ptx_operand::LIST;
            both.list = {o, operand()};
            return both;
        }
        return o;
    }
    ptx_operand register_of(const std::string &name)
    {
        ptx_operand o;
        auto found = names.find(name);
        if (found == names.end()) {
            fail("the name " + name);
            return o;
        }
        o.kind = ptx_operand::REGISTER;
        o.index = found->second;
        return o;
    }
    void declaration() /* .reg .u32 a, b<4>; */
    {
        std::string what = word();
        if (what != "reg") fail("a declaration ." + what);
        take('.');
        word();
        do {
            take('%');
            std::string name = word();
            if (!take('<')) {
                names[name] = code.registers++;
                continue;
            }
            blanks();
            uint64_t n = number().number;
            for (uint64_t i = 0; i < n && i < 1024; i++)
                names[name + std::to_string(i)] = code.registers++;
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
            i.predicate = operand();
        }
        do
            i.parts.push_back(word());
        while (*p == '.' && p++);
        if (i.parts[0].empty()) fail(std::string("a '") + *p + "'");
        blanks();
        while (*p == ':' && p[1] == ':') { /* shared::cta */
            p += 2;
            word();
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

const ptx_code &parse_ptx(const char *text)
{
    static std::mutex lock;
    static std::unordered_map<std::string, std::unique_ptr<ptx_code>> known;
    thread_local std::unordered_map<const char *, const ptx_code *> mine;
    const ptx_code *&here = mine[text];
    if (here) return *here;
    std::lock_guard<std::mutex> hold(lock);
    std::unique_ptr<ptx_code> &code = known[text];
    if (!code) {
        reader r = {text, {}, {}};
        r.all();
        code.reset(new ptx_code(r.code));
    }
    here = code.get();
    return *here;
}
}  // namespace wbcpu
