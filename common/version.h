/* version.h - the version of the programs, the library and the Python package, which mk/
 * and python/ read from this line. The first number is that of the library's soname: it
 * changes when a program that was linked with the library has to be compiled again. */
#ifndef WB_VERSION_H
#define WB_VERSION_H
#define WARPBOOK_VERSION "1.0.0"
#endif
