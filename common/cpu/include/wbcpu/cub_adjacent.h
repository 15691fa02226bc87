/* cub_adjacent.h - CUB's differences between neighbouring items of a block. */
#ifndef WBCPU_CUB_ADJACENT_H
#define WBCPU_CUB_ADJACENT_H

#include "cub_team.h"

namespace cub
{
/* The first item (Left) or the last one (Right) has no neighbour in the block: it stays as
 * it is, unless the call names one. */
template <class T, int X, int Y = 1, int Z = 1, int = 0> class BlockAdjacentDifference
{
  public:
    struct TempStorage {
        wbcpu_items<T, X * Y * Z> first, last;
    };
    explicit BlockAdjacentDifference(TempStorage &t) : s(t) {}

    template <int N, class O, class Op> void SubtractLeft(T (&in)[N], O (&out)[N], Op op)
    {
        left(in, out, op, N * threads(), nullptr);
    }
    template <int N, class O, class Op>
    void SubtractLeft(T (&in)[N], O (&out)[N], Op op, T before)
    {
        left(in, out, op, N * threads(), &before);
    }
    template <int N, class O, class Op>
    void SubtractLeftPartialTile(T (&in)[N], O (&out)[N], Op op, int valid)
    {
        left(in, out, op, valid, nullptr);
    }
    template <int N, class O, class Op>
    void SubtractLeftPartialTile(T (&in)[N], O (&out)[N], Op op, int valid, T before)
    {
        left(in, out, op, valid, &before);
    }
    template <int N, class O, class Op> void SubtractRight(T (&in)[N], O (&out)[N], Op op)
    {
        right(in, out, op, N * threads(), nullptr);
    }
    template <int N, class O, class Op>
    void SubtractRight(T (&in)[N], O (&out)[N], Op op, T after)
    {
        right(in, out, op, N * threads(), &after);
    }
    template <int N, class O, class Op>
    void SubtractRightPartialTile(T (&in)[N], O (&out)[N], Op op, int valid)
    {
        right(in, out, op, valid, nullptr);
    }

  private:
    TempStorage &s;

    static int threads()
    {
        return X * Y * Z;
    }
    template <int N> void publish(T (&in)[N])
    {
        s.first[(int)wbcpu_tid()] = in[0];
        s.last[(int)wbcpu_tid()] = in[N - 1];
        __syncthreads();
    }
    template <int N, class O, class Op>
    void left(T (&in)[N], O (&out)[N], Op op, int valid, T *before)
    {
        publish(in);
        int rank = (int)wbcpu_tid();
        for (int i = N - 1; i >= 0; i--) { /* out may be in */
            T *other = i ? &in[i - 1] : rank ? &s.last[rank - 1] : before;
            out[i] = other && rank * N + i < valid ? (O)op(in[i], *other) : (O)in[i];
        }
    }
    template <int N, class O, class Op>
    void right(T (&in)[N], O (&out)[N], Op op, int valid, T *after)
    {
        publish(in);
        int rank = (int)wbcpu_tid();
        for (int i = 0; i < N; i++) {
            int at = rank * N + i + 1; /* of the neighbour */
            T *other = at < N * threads() ? (i + 1 < N ? &in[i + 1] : &s.first[rank + 1]) : after;
            bool has = other && (at < valid || other == after);
            out[i] = has ? (O)op(in[i], *other) : (O)in[i];
        }
    }
};
}  // namespace cub
#endif
