/* host.cpp - host code: streams, buffers, copies, errors. */
#include "../copies.cpp"
#include "../errors.cpp"
#include "../footprint.cpp"
#include "../host.cpp"
#include "../lifetimes.cpp"
#include "../overlap.cpp"
#include "../queue.cpp"
