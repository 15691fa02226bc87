#!/bin/sh
# install.sh install|uninstall - called by make: copies what is built to DESTDIR and
# PREFIX, or removes it. One list, `files`, serves both.
set -eu
doc=share/doc/warpbook
wheel=warpbook-$VERSION-py3-none-any.whl

files() { # MODE SOURCE DESTINATION
    echo 755 "$B/recurrentgemma" bin/recurrentgemma
    echo 755 "$B/tinylm" bin/tinylm
    echo 755 "$SHARED/librecurrentgemma.so" "lib/librecurrentgemma.so.$VERSION"
    echo 644 "$B/librecurrentgemma.a" lib/librecurrentgemma.a
    echo 755 "${OPENBLAS:-none}" lib/warpbook/warpbook_openblas.so
    echo 644 "$B/install/recurrentgemma.pc" lib/pkgconfig/recurrentgemma.pc
    for header in $HEADERS; do
        case $header in
        */text/*) echo 644 "$header" "include/recurrentgemma/text/${header##*/}" ;;
        *) echo 644 "$header" "include/recurrentgemma/${header##*/}" ;;
        esac
    done
    for program in recurrentgemma tinylm; do
        echo 644 "$B/install/$program.1" share/man/man1/$program.1
    done
    echo 644 "$B/install/$wheel" "share/warpbook/$wheel"
    for preset in tinylm/presets/*; do
        echo 644 "$preset" "share/warpbook/presets/${preset##*/}"
    done
    for example in recurrentgemma/example.*; do
        echo 644 "$example" "$doc/examples/${example##*/}"
    done
}
links() { # NAME TARGET
    echo "lib/$SONAME" "librecurrentgemma.so.$VERSION"
    echo lib/librecurrentgemma.so "$SONAME"
}
own_folders="lib/warpbook include/recurrentgemma/text include/recurrentgemma $doc/examples $doc
    share/warpbook/presets share/warpbook"

make_files() { # what is not built yet
    mkdir -p "$B/install"
    for program in recurrentgemma tinylm; do
        "$PYTHON" tools/man.py "$B/$program" "$VERSION" >"$B/install/$program.1"
    done
    "$PYTHON" python/build_backend.py "$B/install" "$PREFIX/lib/$SONAME"
    cat >"$B/install/recurrentgemma.pc" <<EOF
prefix=$PREFIX
libdir=\${prefix}/lib
includedir=\${prefix}/include/recurrentgemma

Name: recurrentgemma
Description: RecurrentGemma inference on the kernels of warpbook
Version: $VERSION
Cflags: -I\${includedir}
Libs: -L\${libdir} -lrecurrentgemma
Libs.private: -Wl,-rpath,\${libdir}/warpbook $LIBS
EOF
}

to=$DESTDIR$PREFIX
case $PREFIX in
/*) ;;
*) echo "PREFIX=$PREFIX is not an absolute path: PREFIX=/usr/local, say" >&2; exit 1 ;;
esac
case $1 in
install)
    make_files
    files | while read -r mode source destination; do
        [ "$source" = none ] || install -D -m "$mode" "$source" "$to/$destination"
    done
    links | while read -r name target; do ln -sf "$target" "$to/$name"; done
    more='; ldconfig lets programs find the library'
    [ -z "$DESTDIR" ] || more=
    echo "installed in $to$more"
    ;;
uninstall)
    { files | cut -d' ' -f3; links | cut -d' ' -f1; } | while read -r name; do
        rm -f "$to/$name"
    done
    for folder in $own_folders; do
        [ ! -d "$to/$folder" ] || rmdir --ignore-fail-on-non-empty "$to/$folder"
    done
    ;;
esac
