// sentencepiece.cpp - see sentencepiece.h. The only C++ of the programs.
#include "sentencepiece.h"

#include <sentencepiece_processor.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

struct spm {
    sentencepiece::SentencePieceProcessor processor;
};

// The library also logs its errors to stderr. This switch is in none of its headers and not
// every build exports it, hence weak: null where it is missing.
namespace sentencepiece
{
namespace logging
{
void SetMinLogLevel(int level) __attribute__((weak));
}
}  // namespace sentencepiece

// The library's words for a message of ours, without its "./src/x.cc(12) [...]".
static std::string words_of(const sentencepiece::util::Status &status)
{
    std::string words = status.message() ? status.message() : "";
    return words.find(".cc(") == words.npos ? words : "not a SentencePiece model";
}

spm *spm_open(const void *model, size_t bytes, const char *name, wb_error *err)
{
    spm *s = nullptr;
    if (sentencepiece::logging::SetMinLogLevel) sentencepiece::logging::SetMinLogLevel(3);
    try {
        s = new spm;
        auto status = s->processor.LoadFromSerializedProto(
            std::string_view(static_cast<const char *>(model), bytes));
        if (status.ok()) return s;
        error_set(
            err, "%s: damaged or cut off (%.200s); get the file again", name,
            words_of(status).c_str());
    } catch (const std::exception &e) {
        error_set(err, "%s: %.200s", name, e.what());
    }
    delete s;
    return nullptr;
}

void spm_close(spm *s)
{
    delete s;
}

int spm_vocab(const spm *s)
{
    return s->processor.GetPieceSize();
}
int spm_bos(const spm *s)
{
    return s->processor.bos_id();
}
int spm_eos(const spm *s)
{
    return s->processor.eos_id();
}
int spm_pad(const spm *s)
{
    return s->processor.pad_id();
}
int spm_unknown(const spm *s)
{
    return s->processor.unk_id();
}
bool spm_control(const spm *s, int id)
{
    return s->processor.IsControl(id);
}

// The library returns the unknown piece's id for every piece that it does not know.
int spm_piece_id(const spm *s, const char *piece)
{
    int id = s->processor.PieceToId(piece);
    bool known = id >= 0 && id < spm_vocab(s) && s->processor.IdToPiece(id) == piece;
    return known ? id : -1;
}

int spm_byte(const spm *s, int id)
{
    if (!s->processor.IsByte(id)) return -1;
    const std::string &piece = s->processor.IdToPiece(id);  // <0xHH>
    return piece.size() == 6 ? static_cast<int>(std::strtol(&piece[1], nullptr, 16)) : -1;
}

// A copy that C frees, with a zero byte at the end.
static void *copied(const void *data, size_t bytes)
{
    char *copy = static_cast<char *>(std::malloc(bytes + 1));
    if (!copy) return nullptr;
    if (bytes) std::memcpy(copy, data, bytes);
    copy[bytes] = 0;
    return copy;
}

int *spm_encode(
    const spm *s, const char *text, size_t bytes, size_t *count, wb_error *err)
{
    *count = 0;
    try {
        std::vector<int> ids;
        auto status = s->processor.Encode(std::string_view(text, bytes), &ids);
        int *copy = nullptr;
        if (!status.ok())
            error_set(err, "text: %.200s", words_of(status).c_str());
        else if (!(copy =
                       static_cast<int *>(copied(ids.data(), ids.size() * sizeof(int)))))
            error_set(err, "text: no memory for %zu tokens", ids.size());
        else
            *count = ids.size();
        return copy;
    } catch (const std::exception &e) {
        error_set(err, "text of %zu bytes: %.200s", bytes, e.what());
        return nullptr;
    }
}

char *spm_decode(const spm *s, const int *ids, size_t count, size_t *bytes)
{
    *bytes = 0;
    try {
        std::string text;
        std::vector<int> all(ids, ids + count);
        if (!s->processor.Decode(all, &text).ok()) return nullptr;
        char *copy = static_cast<char *>(copied(text.data(), text.size()));
        if (copy) *bytes = text.size();
        return copy;
    } catch (const std::exception &) {
        return nullptr;
    }
}
