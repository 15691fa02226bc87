/* ubsan.h - what g++ and clang++ pass to the functions that -fsanitize=alignment and
 * -fsanitize=bounds call. The layout is libubsan's, which is not linked. */
#ifndef WBCPU_UBSAN_H
#define WBCPU_UBSAN_H
#include <stdint.h>
#include <string>

namespace wbcpu
{
struct source_location {
    const char *file;
    uint32_t line, column;
};
struct type_descriptor {
    uint16_t kind, info;
    char name[]; /* 'const struct float4', with the quotes */
};

/* The type's name as CUDA writes it: float4. */
static inline std::string plain_type(const type_descriptor *type)
{
    std::string name = type->name + (type->name[0] == '\'');
    if (!name.empty() && name.back() == '\'') name.pop_back();
    for (bool found = true; found;) {
        found = false;
        for (const std::string word : {"const ", "volatile ", "struct "})
            if (name.compare(0, word.size(), word) == 0)
                name.erase(0, word.size()), found = true;
    }
    return name;
}
}  // namespace wbcpu
#endif
