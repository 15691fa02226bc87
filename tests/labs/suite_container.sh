#!/usr/bin/env bash
# tools/container: what the script asks of podman or docker, with a program in their place;
# what runs inside, in this tree; and the real thing where an image is at hand.
. "$(dirname "$0")/../tap.sh"
unset CONTAINER IMAGE MEMORY PROCESSES CPUS SECONDS_LIMIT
grade=tools/container/grade
S=$TMP/sub
mkdir -p "$S" "$TMP/reports"
cp labs/lab03_rmsnorm/rmsnorm.cu "$S/a.cu"

# The stand-in prints its arguments to a file, and an archive like that of the container.
printf 'Score: 7/100\n' >"$TMP/reports/report.txt"
printf '{"score": 7}\n' >"$TMP/reports/report.json"
stand_in() { # stand_in EXIT [COMMAND]
    cat >"$TMP/program" <<END
#!/bin/sh
[ "\$1" != rm ] || exit 0
printf '%s\n' "\$@" >"$TMP/arguments"
${2:-}
tar -C "$TMP/reports" -c report.txt report.json
exit $1
END
    chmod +x "$TMP/program"
}
contained() { CONTAINER=$TMP/program "$grade" "$@"; }
exits() { # exits CODE COMMAND...
    want=$1; shift
    "$@"; code=$?
    [ $code = "$want" ] || { echo "exit $code"; false; }
}
asks() { # asks WORDS: a line, or a line and the next
    check "asks for $1" grep -qxF -- "$1" "$TMP/arguments"
}
stand_in 0
check_says "the report is printed" "Score: 7/100" contained lab03 "$S/a.cu" --seed 0x5
for option in --rm --read-only "--network" none "--cap-drop" all no-new-privileges \
    "--memory" 4g "--memory-swap" "--pids-limit" 256 "--cpus" \
    /tmp:rw,exec,nosuid,nodev,size=2g,mode=1777 lab03 --seed 0x5; do
    asks "$option"
done
mounted() { grep -qE '^type=bind,source=/[^,]*/submission,target=/submission/submission.cu,readonly$' "$TMP/arguments"; }
check "mounts the submission read-only, and nothing else" mounted
check "one mount" [ "$(grep -c '^type=bind' "$TMP/arguments")" = 1 ]
odd=$S/$'a, b:"$(touch x)\n.cu'
cp "$S/a.cu" "$odd"
check "a file with an odd name" contained lab03 "$odd"
check "is mounted under the same name" mounted
check "a folder" contained lab03 "$S"
check "is mounted too" grep -qE ',target=/submission,readonly$' "$TMP/arguments"
check "reports go to a folder" contained lab03 "$S/a.cu" --out "$TMP/out"
check "with the text" diff "$TMP/reports" "$TMP/out"
for code in 0 1 2 3 4 5; do
    stand_in $code
    check "exit $code" exits $code contained lab03 "$S/a.cu"
done
stand_in 126
check "no container: exit 125" exits 125 contained lab03 "$S/a.cu"
check_fails "and the reason" "the container ended with 126: is the image there?" contained lab03 "$S/a.cu"
stand_in 0 "exit 0"
check_fails "no report" "the container gave no report.txt" contained lab03 "$S/a.cu"
# An archive with other names writes nothing.
mkdir -p "$TMP/evil" && echo evil >"$TMP/evil/file"
stand_in 0 "tar -P -C '$TMP/reports' -c --transform 's,^evil,../../evil,' report.txt report.json -C '$TMP' evil/file; exit 0"
check "other files in the archive" contained lab03 "$S/a.cu" --out "$TMP/out"
check "are not written" [ "$(ls "$TMP/out")" = "$(printf 'report.json\nreport.txt')" ]
check_fails "no such file" "no such file or folder" contained lab03 "$TMP/none.cu"
check_fails "no such lab" "name a lab like lab03" contained 'lab03;x' "$S/a.cu"
check_fails "no path" "name a lab and a path" contained lab03

echo "# inside"
inside() { tools/container/inside "$@" >"$TMP/archive"; code=$?
    tar -xOf "$TMP/archive" report.txt; tar -xOf "$TMP/archive" report.json; return $code; }
if [ "$BACKEND" = cpu ]; then
    printf '/* cut' >"$TMP/cut.cu"
    check "does not build: exit 2" exits 2 inside 300 lab03 "$TMP/cut.cu"
    check_fails "the report says why" "cut.cu:1: error: a comment without its */" inside 300 lab03 "$TMP/cut.cu"
    check_fails "there is JSON, too" '"exit": 2' inside 300 lab03 "$TMP/cut.cu"
    check "not written: exit 1" exits 1 inside 300 lab03 labs/lab03_rmsnorm
    check_fails "the score" "Score: 0/100" inside 300 lab03 labs/lab03_rmsnorm
    check "too long: exit 4" exits 4 inside 0.1 lab03 labs/lab03_rmsnorm
    check_fails "the report says so" "stopped after 0.1 s" inside 0.1 lab03 labs/lab03_rmsnorm
fi

ln -s /etc/passwd "$TMP/link.cu"
check_fails "a link is not followed" "is a symbolic link" \
    env CONTAINER=true "$grade" lab03 "$TMP/link.cu"
echo "# a real container"
real=
for program in podman docker; do
    command -v $program >/dev/null && $program run --rm --network none --entrypoint true \
        --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 warpbook-grader >/dev/null 2>&1 &&
        real=$program
done
if [ -z "$real" ]; then
    echo "# not run: no image (tools/container/grade --build makes one)"
    tap_done
fi
in_container() { CONTAINER=$real "$grade" "$@"; }
check "the starter: exit 1" exits 1 in_container lab03 labs/lab03_rmsnorm --out "$TMP/real"
check "in the sandbox" grep -q '"sandbox": "Landlock and seccomp"' "$TMP/real/report.json"
if [ -d solutions ]; then
    check "a solution: exit 0" exits 0 in_container lab01 solutions/lab01_swiglu
fi
tap_done
