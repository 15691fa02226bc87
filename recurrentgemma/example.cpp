/* example.cpp - the engine from C++: the most likely tokens after some token ids, and the
 * ids that continue them. It needs no tokenizer.
 *
 *     c++ example.cpp -o example $(pkg-config --cflags --libs recurrentgemma)
 *     ./example runs/laptop-griffin/best 30 27 25 17 27 10
 */
#include "recurrentgemma.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

struct closes {
    void operator()(rg_engine *e) const
    {
        rg_close(e);
    }
};
using engine = std::unique_ptr<rg_engine, closes>;

static int fail(const wb_error &err)
{
    std::fprintf(stderr, "%s\n", err.text);
    return 1;
}

// Keeps the logits of the last token.
static int keep(void *user, int, int, const float *logits, int vocab)
{
    static_cast<std::vector<float> *>(user)->assign(logits, logits + vocab);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: example FOLDER ID...\n");
        return 2;
    }
    std::vector<int> prompt;
    for (int i = 2; i < argc; i++)
        prompt.push_back(std::atoi(argv[i]));
    const int *prompts[] = {prompt.data()};
    const int count[] = {static_cast<int>(prompt.size())};

    wb_error err;
    rg_settings set = rg_defaults();  // greedy
    set.max_new_tokens = 8;
    engine e(rg_open(argv[1], &set, &err));
    if (!e) return fail(err);

    std::vector<float> logits;
    if (rg_score(e.get(), prompts, count, keep, &logits, &err)) return fail(err);
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const size_t shown = std::min<size_t>(5, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
        [&](int a, int b) {
            return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
        });
    for (size_t i = 0; i < shown; i++)
        std::printf("%d %.6f\n", order[i], logits[static_cast<size_t>(order[i])]);

    rg_reset(e.get(), 0, 0);  // the prompt again, now to sample
    if (rg_prefill(e.get(), prompts, count, &err) < 0) return fail(err);
    if (!rg_done(e.get(), 0) && rg_step(e.get(), set.max_new_tokens, &err) < 0)
        return fail(err);
    for (int i = 0; i < rg_sampled(e.get(), 0); i++)
        std::printf("%d ", rg_tokens(e.get(), 0)[i]);
    std::printf("\n");
    return 0;
}
