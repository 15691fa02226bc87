#!/usr/bin/env bash
# TinyLM with several ranks: the losses of one, a rank that is killed, resuming with
# fewer ranks, wrong input.
. "$(dirname "$0")/../tap.sh"
tinylm=$B/tinylm
mpi=tools/mpi.sh
text=$TMP/text
verses 150 >"$text"

# --- without the engines ----------------------------------------------------------------
no_mpirun() { mkdir -p "$TMP/bin" && ln -sf /usr/bin/env "$(command -v bash)" "$TMP/bin/" && PATH=$TMP/bin bash $mpi run "$@"; }
complains 1 "RANKS=2 without MPI says what to install" \
    "RANKS=2 needs Open MPI: sudo apt-get install" no_mpirun 2 "$tinylm" train
finds_nothing() { BACKEND=cpu MPICC=none $mpi find "$TMP/none" && [ -z "$(cat "$TMP"/none.{flags,libs})" ]; }
check "without mpicc the build has no engines" finds_nothing
one_rank() {
    for f in ranks collectives; do
        gcc -c -Wall -Werror -Icommon -Icommon/cpu/include "tinylm/$f.c" -o "$TMP/$f.o" || return 1
    done
    printf '#include "ranks.h"\n#include <stdio.h>\nint main(void) { ranks r; wb_error e;
        if (ranks_open(&r, &e)) return puts(e.text), 1; return r.size != 1; }\n' |
        gcc -Icommon -Itinylm -x c - -x none "$TMP"/{ranks,collectives}.o "$B/libwb.a" -o "$TMP/alone" &&
        "$TMP/alone"
}
check "and the program works with one rank" one_rank
complains 1 "which does not start as one of several" "was built for one rank: install Open MPI" \
    env PMIX_RANK=0 "$TMP/alone"
if ! command -v mpirun >/dev/null; then
    skip "several ranks" "no mpirun (make setup-test)"
    tap_done
fi
if [ "$(devices)" -lt 4 ]; then
    skip "several ranks" "four GPUs are needed"
    tap_done
fi

# --- equal losses -----------------------------------------------------------------------
model="--layers 3 --channels 32 --heads 2 --hidden 40 --context 16 --warmup 5 --quiet"
steps="--steps 50 --eval-every 10 --log-every 1"
ranks() { # N FOLDER ARGS: threads of the ranks do not compete for the cores
    local n=$1 folder=$2; shift 2
    WB_THREADS=1 $mpi run "$n" "$tinylm" train --data "$text" --out "$TMP/$folder" $model "$@"
}
start() { WB_THREADS=1 exec $mpi run 4 "$tinylm" train --data "$text" --out "$TMP/$1" $model "${@:2}"; }
# The losses of both, at every step, and the validation losses.
near() { # A B BOUND
    paste -d, "$TMP/$1/train.csv" "$TMP/$2/train.csv" | awk -F, -v bound="$3" '
        function off(a, b) { a = (a - b) / b; return (a < 0 ? -a : a) > bound }
        NR > 1 && ($1 != $9 || off($2, $10) || ($3 == "") != ($11 == "") || ($3 != "" && off($3, $11))) {
            print; bad = 1 } END { exit bad || NR != 51 }'
}
both() { "$1" "${@:2}" && near "$3" one 1e-5; } # a run of N ranks, compared with one
whole="$steps --batch 8 --accum 2 --dropout 0.1"
check "one rank, 50 steps" ranks 1 one $whole
check "two ranks: the losses are equal within 1e-5" both ranks 2 two $whole
check "four ranks, a bucket per layer" both ranks 4 four $whole --bucket 0.01
check "four ranks, sharded: ZeRO-1" both ranks 4 shards $whole --bucket 0.01 --shard 1
rounded() { ranks 2 rounded $whole --reduce bf16 && near rounded two 3e-3 && ! near rounded two 1e-6; }
check "gradients added up in bf16: near" rounded
griffin="--arch griffin --recurrent 48"
griffin() { ranks 1 g1 $whole $griffin && ranks 2 g2 $whole $griffin --shard 1 && near g2 g1 1e-5; }
check "griffin, sharded" griffin
scale() { awk -F, 'END {print $1, $7}' "$TMP/$1/train.csv"; }
skips() {
    for n in 1 4; do
        ranks $n f$n --dtype f16 --loss-scale 1e15 --steps 20 --batch 8 --shard 1 --eval-every 0 || return 1
    done
    [ "$(scale f1)" = "$(scale f4)" ]
}
check "f16: all ranks skip the same steps" skips

# --- resuming ---------------------------------------------------------------------------
same_bits() { cmp "$TMP/$1/last/training.safetensors" "$TMP/$2/last/training.safetensors"; }
again() { ranks 4 again $whole --bucket 0.01 --shard 1 --stop-at 20 && ranks 4 again --resume; }
check "stopped at step 20 and resumed with four ranks" again
check "that ends with the bits of the whole run" same_bits again shards
fewer() {
    ranks 4 fewer $whole --shard 1 --stop-at 20 && ranks 2 fewer --resume --stop-at 35 &&
        ranks 1 fewer --resume && near fewer one 1e-5
}
check "resumed with two ranks, then one: the same losses" fewer

# --- the end of a rank ------------------------------------------------------------------
wait_for() { for _ in $(seq 300); do [ -e "$1" ] && return; sleep 0.1; done; return 1; }
long="--steps 100000 --batch 8 --save-every 5 --eval-every 0"
killed() {
    start killed $long >"$TMP/said" 2>&1 &
    local job=$! begin
    wait_for "$TMP/killed/last/training.safetensors" || return 1
    begin=$SECONDS
    kill -KILL "$(pgrep -f "^$tinylm train .*--out $TMP/killed " | tail -1)"
    wait $job && return 1
    cat "$TMP/said"
    [ $((SECONDS - begin)) -le 10 ] && [ "$(wc -l <"$TMP/said")" = 1 ] &&
        grep -q '^rank [0-3] was ended by signal 9' "$TMP/said"
}
check "a rank that is killed ends all of them, with one line that names it" killed
check "and the run goes on" ranks 2 killed --resume --steps 1000 --stop-at 20 --save-every 0
stopped() {
    start stopped $long >"$TMP/said" 2>&1 &
    local job=$!
    wait_for "$TMP/stopped/last/training.safetensors" || return 1
    kill -TERM $job
    wait $job
    [ $? = 130 ] && grep -q '^stopped at step .* and saved' "$TMP/said" || { cat "$TMP/said"; return 1; }
}
check "SIGTERM: all ranks save and stop" stopped

# --- wrong input: one line, from one rank -----------------------------------------------
complains 2 "rows that do not divide" "--batch 9: give a multiple of the 2 ranks" ranks 2 x --batch 9
complains 1 "shards that do not divide" "--shard 1 needs 2, 4, 8, 16, 32 or 64 ranks, not 3" \
    ranks 3 x --batch 9 --shard 1
complains 2 "an unknown reduction" "--reduce f16: give f32 or bf16" ranks 2 x --reduce f16
complains 1 "no text" "$TMP/none.txt: No such file" ranks 2 x --data "$TMP/none.txt"
complains 1 "a folder that holds a run" "holds a run: continue it with --resume" ranks 2 two $whole
tap_done
