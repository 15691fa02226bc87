/* cub_block.h - CUB's collectives of a block and of a warp. All threads write their items to
 * the temporary storage; one thread works; all read. Every thread gets a reduction's result. */
#ifndef WBCPU_CUB_BLOCK_H
#define WBCPU_CUB_BLOCK_H

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
    /* several items of a thread follow one another */
    template <int N> void InclusiveSum(T (&v)[N], T (&out)[N])
    {
        T all;
        ExclusiveSum(v, out, all);
        for (int i = 0; i < N; i++)
            out[i] = out[i] + v[i];
    }
    template <int N> void ExclusiveSum(T (&v)[N], T (&out)[N])
    {
        T all;
        ExclusiveSum(v, out, all);
    }
    template <int N> void ExclusiveSum(T (&v)[N], T (&out)[N], T &all)
    {
        T own = T(), before;
        for (int i = 0; i < N; i++)
            own = own + v[i];
        ExclusiveSum(own, before, all);
        for (int i = 0; i < N; i++) {
            T next = before + v[i]; /* out may be v */
            out[i] = before;
            before = next;
        }
    }
};
template <class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
using BlockScan = wbcpu_scans<wbcpu_team<T, X * Y * Z, false>, T>;
template <class T, int Threads = 32, int = 0>
using WarpScan = wbcpu_scans<wbcpu_team<T, Threads, true>, T>;

/* --- items between memory and threads ------------------------------------------------------ */

struct wbcpu_nothing {
};
template <class T, int X, int N, int A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
struct BlockLoad {
    typedef wbcpu_nothing TempStorage;
    explicit BlockLoad(TempStorage &) {}
    BlockLoad() = default;
    static int place(int i)
    {
        return A == BLOCK_LOAD_STRIPED ? i * X * Y * Z + (int)wbcpu_tid()
                                       : (int)wbcpu_tid() * N + i;
    }
    template <class It> void Load(It from, T (&v)[N])
    {
        for (int i = 0; i < N; i++)
            v[i] = from[place(i)];
    }
    template <class It> void Load(It from, T (&v)[N], int valid)
    {
        for (int i = 0; i < N; i++)
            if (place(i) < valid) v[i] = from[place(i)];
    }
    template <class It, class D> void Load(It from, T (&v)[N], int valid, D otherwise)
    {
        for (int i = 0; i < N; i++)
            v[i] = place(i) < valid ? (T)from[place(i)] : (T)otherwise;
    }
};
template <class T, int X, int N, int A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
struct BlockStore {
    typedef wbcpu_nothing TempStorage;
    explicit BlockStore(TempStorage &) {}
    template <class It> void Store(It to, T (&v)[N], int valid = N * X * Y * Z)
    {
        for (int i = 0; i < N; i++) {
            int at = BlockLoad<T, X, N, A, Y, Z>::place(i);
            if (at < valid) to[at] = v[i];
        }
    }
};

/* Threads hold N consecutive items each. */
template <class K, int X, int N, class V = wbcpu_nothing, int = 4>
struct BlockRadixSort {
    struct TempStorage {
        wbcpu_items<K, X * N> keys;
        wbcpu_items<V, X * N> values;
        wbcpu_items<int, X * N> order;
    };
    TempStorage &s;
    explicit BlockRadixSort(TempStorage &t) : s(t) {}
    template <class Less> void sort(K (&keys)[N], V *values, bool striped, Less less)
    {
        int rank = (int)wbcpu_tid();
        __syncthreads();
        for (int i = 0; i < N; i++) {
            s.keys[rank * N + i] = keys[i];
            if (values) s.values[rank * N + i] = values[i];
            s.order[rank * N + i] = rank * N + i;
        }
        __syncthreads();
        if (rank == 0)
            std::stable_sort(&s.order[0], &s.order[0] + X * N, [&](int a, int b) {
                return less(s.keys[a], s.keys[b]);
            });
        __syncthreads();
        for (int i = 0; i < N; i++) {
            int from = s.order[striped ? i * X + rank : rank * N + i];
            keys[i] = s.keys[from];
            if (values) values[i] = s.values[from];
        }
    }
    static bool up(const K &a, const K &b)
    {
        return a < b;
    }
    static bool down(const K &a, const K &b)
    {
        return b < a;
    }
    void Sort(K (&keys)[N], int = 0, int = 0)
    {
        sort(keys, nullptr, false, up);
    }
    void Sort(K (&keys)[N], V (&values)[N], int = 0, int = 0)
    {
        sort(keys, values, false, up);
    }
    void SortDescending(K (&keys)[N], int = 0, int = 0)
    {
        sort(keys, nullptr, false, down);
    }
    void SortDescending(K (&keys)[N], V (&values)[N], int = 0, int = 0)
    {
        sort(keys, values, false, down);
    }
    void SortBlockedToStriped(K (&keys)[N], int = 0, int = 0)
    {
        sort(keys, nullptr, true, up);
    }
};
}  // namespace cub
#endif
