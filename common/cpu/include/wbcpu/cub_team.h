/* cub_team.h - CUB's operators, and what its collectives have in common. */
#ifndef WBCPU_CUB_TEAM_H
#define WBCPU_CUB_TEAM_H

#include "../cuda_runtime.h"

#include <algorithm>

namespace cub
{
struct Sum {
    template <class T> T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
};
struct Max {
    template <class T> T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T> T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T> bool operator()(const T &a, const T &b) const
    {
        return a == b;
    }
};
template <class K, class V> struct KeyValuePair {
    K key;
    V value;
};
enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE
};

/* Room for n values, without a constructor: it lies in shared memory. */
template <class T, int N> struct wbcpu_items {
    alignas(T) char bytes[sizeof(T) * N];
    T &operator[](int i)
    {
        return reinterpret_cast<T *>(bytes)[i];
    }
    wbcpu_items &Alias()
    {
        return *this;
    }
};
template <class T> struct Uninitialized : wbcpu_items<T, 1> {
};

/* Threads 0 to Threads - 1 of a block, or of a part of a warp, with their storage */
template <class T, int Threads, bool Warp> class wbcpu_team
{
  protected:
    wbcpu_items<T, Threads + 1> &items; /* the last one: of all */
    static int rank()
    {
        return (int)wbcpu_tid() % Threads;
    }
    static void sync()
    {
        if constexpr (Warp)
            __syncwarp((Threads == 32 ? ~0u : ((1u << Threads % 32) - 1)) << (wbcpu_lane() & ~(Threads - 1u)));
        else
            __syncthreads();
    }
    template <class Work> void together(const T &mine, const Work &work)
    {
        sync(); /* the storage may be in use */
        items[rank()] = mine;
        sync();
        if (rank() == 0) work();
        sync();
    }
    template <class Op> T reduce(const T &mine, int valid, Op op)
    {
        together(mine, [&] {
            T sum = items[0];
            for (int i = 1; i < valid; i++)
                sum = op(sum, items[i]);
            items[Threads] = sum;
        });
        return items[Threads];
    }
    /* Inclusive prefixes; exclusive: the result of the thread before, in thread 0 `first` */
    template <class Op> T scan(const T &mine, Op op, T *all)
    {
        together(mine, [&] {
            for (int i = 1; i < count(); i++)
                items[i] = op(items[i - 1], items[i]);
            items[Threads] = items[count() - 1];
        });
        if (all) *all = items[Threads];
        return items[rank()];
    }
    static int count()
    {
        int threads = (int)wbcpu_self->threads;
        return threads < Threads ? threads : Threads;
    }

  public:
    typedef wbcpu_items<T, Threads + 1> TempStorage;
    explicit wbcpu_team(TempStorage &s) : items(s) {}
};

}  // namespace cub
#endif
