/* cub_block.h - CUB's collectives of a block and of a warp. All threads write their items to
 * the temporary storage; one thread works; all read. Every thread gets a reduction's result. */
#ifndef WBCPU_CUB_BLOCK_H
#define WBCPU_CUB_BLOCK_H

#include "cub_adjacent.h"
#include "cub_items.h"
#include "cub_team.h"

namespace cub
{
template <class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
struct BlockReduce : wbcpu_team<T, X * Y * Z, false> {
    using wbcpu_team<T, X * Y * Z, false>::wbcpu_team;
    template <class Op> T Reduce(const T &v, Op op)
    {
        return this->reduce(v, this->count(), op);
    }
    template <class Op> T Reduce(const T &v, Op op, int valid)
    {
        return this->reduce(v, valid, op);
    }
    template <int N, class Op> T Reduce(T (&v)[N], Op op)
    {
        T sum = v[0];
        for (int i = 1; i < N; i++)
            sum = op(sum, v[i]);
        return Reduce(sum, op);
    }
    T Sum(const T &v)
    {
        return Reduce(v, cub::Sum());
    }
    T Sum(const T &v, int valid)
    {
        return Reduce(v, cub::Sum(), valid);
    }
    template <int N> T Sum(T (&v)[N])
    {
        return Reduce(v, cub::Sum());
    }
};
template <class T, int Threads = 32, int = 0>
struct WarpReduce : wbcpu_team<T, Threads, true> {
    using wbcpu_team<T, Threads, true>::wbcpu_team;
    template <class Op> T Reduce(const T &v, Op op, int valid = Threads)
    {
        int here = this->count();
        return this->reduce(v, valid < here ? valid : here, op);
    }
    T Sum(const T &v, int valid = Threads)
    {
        return Reduce(v, cub::Sum(), valid);
    }
};

template <class Team, class T> struct wbcpu_scans : Team {
    using Team::Team;
    template <class Op> void InclusiveScan(T v, T &out, Op op)
    {
        out = this->scan(v, op, nullptr);
    }
    template <class Op> void InclusiveScan(T v, T &out, Op op, T &all)
    {
        out = this->scan(v, op, &all);
    }
    template <class Op> void ExclusiveScan(T v, T &out, T first, Op op, T &all)
    {
        this->scan(v, op, &all);
        int i = this->rank();
        out = i ? op(first, this->items[i - 1]) : first;
    }
    template <class Op> void ExclusiveScan(T v, T &out, T first, Op op)
    {
        T all;
        ExclusiveScan(v, out, first, op, all);
    }
    template <class Op> void ExclusiveScan(T v, T &out, Op op)
    {
        this->scan(v, op, nullptr);
        if (int i = this->rank()) out = this->items[i - 1];
    }
    void InclusiveSum(T v, T &out)
    {
        InclusiveScan(v, out, Sum());
    }
    void InclusiveSum(T v, T &out, T &all)
    {
        InclusiveScan(v, out, Sum(), all);
    }
    void ExclusiveSum(T v, T &out)
    {
        ExclusiveScan(v, out, T(), Sum());
    }
    void ExclusiveSum(T v, T &out, T &all)
    {
        ExclusiveScan(v, out, T(), Sum(), all);
    }
    /* Several items of a thread follow one another. out may be v. */
    template <int N, class Op> void InclusiveScan(T (&v)[N], T (&out)[N], Op op, T &all)
    {
        T sum[N] = {v[0]};
        for (int i = 1; i < N; i++)
            sum[i] = op(sum[i - 1], v[i]);
        this->scan(sum[N - 1], op, &all);
        int before = this->rank() - 1;
        for (int i = 0; i < N; i++)
            out[i] = before < 0 ? sum[i] : op(this->items[before], sum[i]);
    }
    template <int N, class Op> void InclusiveScan(T (&v)[N], T (&out)[N], Op op)
    {
        T all;
        InclusiveScan(v, out, op, all);
    }
    template <int N, class Op>
    void ExclusiveScan(T (&v)[N], T (&out)[N], T first, Op op, T &all)
    {
        T sum = v[0], before;
        for (int i = 1; i < N; i++)
            sum = op(sum, v[i]);
        ExclusiveScan(sum, before, first, op, all);
        for (int i = 0; i < N; i++) {
            T next = op(before, v[i]);
            out[i] = before;
            before = next;
        }
    }
    template <int N, class Op> void ExclusiveScan(T (&v)[N], T (&out)[N], T first, Op op)
    {
        T all;
        ExclusiveScan(v, out, first, op, all);
    }
    template <int N> void InclusiveSum(T (&v)[N], T (&out)[N])
    {
        InclusiveScan(v, out, Sum());
    }
    template <int N> void InclusiveSum(T (&v)[N], T (&out)[N], T &all)
    {
        InclusiveScan(v, out, Sum(), all);
    }
    template <int N> void ExclusiveSum(T (&v)[N], T (&out)[N])
    {
        ExclusiveScan(v, out, T(), Sum());
    }
    template <int N> void ExclusiveSum(T (&v)[N], T (&out)[N], T &all)
    {
        ExclusiveScan(v, out, T(), Sum(), all);
    }
};
template <class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
using BlockScan = wbcpu_scans<wbcpu_team<T, X * Y * Z, false>, T>;
template <class T, int Threads = 32, int = 0>
using WarpScan = wbcpu_scans<wbcpu_team<T, Threads, true>, T>;

}  // namespace cub
#endif
