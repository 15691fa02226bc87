/* cub_items.h - CUB's collectives that move items between memory and threads. */
#ifndef WBCPU_CUB_ITEMS_H
#define WBCPU_CUB_ITEMS_H

#include "cub_team.h"

#include <limits.h>

namespace cub
{
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

/* The same without a class: item i of a thread is at thread * N + i (Blocked) or at
 * i * THREADS + thread (Striped). */
template <class T, int N, class It>
void LoadDirectBlocked(int thread, It from, T (&v)[N], int valid = INT_MAX)
{
    for (int i = 0; i < N && thread * N + i < valid; i++)
        v[i] = from[thread * N + i];
}
template <class T, int N, class It>
void StoreDirectBlocked(int thread, It to, T (&v)[N], int valid = INT_MAX)
{
    for (int i = 0; i < N && thread * N + i < valid; i++)
        to[thread * N + i] = v[i];
}
template <int THREADS, class T, int N, class It>
void LoadDirectStriped(int thread, It from, T (&v)[N], int valid = INT_MAX)
{
    for (int i = 0; i < N && i * THREADS + thread < valid; i++)
        v[i] = from[i * THREADS + thread];
}
template <int THREADS, class T, int N, class It>
void StoreDirectStriped(int thread, It to, T (&v)[N], int valid = INT_MAX)
{
    for (int i = 0; i < N && i * THREADS + thread < valid; i++)
        to[i * THREADS + thread] = v[i];
}

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
            std::sort(&s.order[0], &s.order[0] + X * N, [&](int a, int b) {
                /* stable; std::stable_sort would allocate host memory */
                return less(s.keys[a], s.keys[b]) || (a < b && !less(s.keys[b], s.keys[a]));
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
