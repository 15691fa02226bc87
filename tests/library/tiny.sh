# tiny.sh - sourced by the suites of the library, in place of tap.sh. $TMP/model is the
# tiny model with a tokenizer of bytes, which a model of one training step has.
. "$(dirname "$0")/../tap.sh"
tiny=tests/recurrentgemma/tiny
version=$(sed -n 's/.*WARPBOOK_VERSION "\(.*\)"/\1/p' common/version.h)
tiny_with_text() {
    "$B/tinylm" train --quiet --data CONTRIBUTING.md --out "$TMP/run" --tokenizer bytes \
        --steps 1 --warmup 1 --layers 1 --channels 32 --heads 2 --context 16 --batch 1 \
        --eval-every 0 >"$TMP/.out" && mkdir "$TMP/model" &&
        cp $tiny/config.json $tiny/model.safetensors "$TMP/run/best/tokenizer.json" \
            "$TMP/model"
}
