/* counts.cpp - requests, sectors, bank conflicts. */
#include "../align.cpp"
#include "../conflicts.cpp"
#include "../counts.cpp"
#include "../gpus.cpp"
#include "../kernels_json.cpp"
#include "../sectors.cpp"
#include "../tiles.cpp"
