/* expect.h - ends a program of this folder with the line where something is wrong. */
#pragma once

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            printf("%s:%d: wrong\n", __FILE__, __LINE__);                                \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
