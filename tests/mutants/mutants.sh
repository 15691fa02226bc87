# mutants.sh - sourced after tap.sh: does the grader recognise wrong programs?
#
# A mutant of a lab is a whole NAME.cu, or a NAME.edit of the solution (see edit.py).
# Lines after `#` or `//` state what must happen:
#     of: attention.cu    the only file of the solution that an .edit changes. It is built
#                         alone, so the functions of the others are missing; a .cuh with the
#                         files that include it. Without this line: the whole solution.
#     with: attention.cu  of a .cuh: only this one of the files that include it
#     fails: case,case    each of these cases must give 0 points; may be repeated
#     passes: case,case   each of these cases must give its points
#     says: words         the report must contain these words; may be repeated
#     scale: 0.2          --timeout-scale, for programs that hang
#     only: cpu           skipped on another back end; so is one that says "thread order"
#     checked: yes        built with check mode, which counts what a case bounds; without
#                         it such a case is skipped
#     unscanned: yes      run although the symbol scan rejects it: the sandbox and the
#                         harness must stop it alone
# mutant LAB FILE builds and grades a mutant, and prints one TAP line.

# A build folder of the suite's own, so that the learner's builds stay what they are.
mutants_begin() {
    export WBCPU_SMS=2 # launchers choose the same kernels on every computer
    reuse_build "$TMP/build"
}

mutant_make() { # LAB SOURCE CHECKED
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s BACKEND="$BACKEND" BUILD="$TMP/build" \
        OPT="$QUICK" "$1" FILE="$2" $([ -n "${3-}" ] || echo CHECK=off)
}

header_of() { sed -n "s,^\(#\|//\) *$1: *,,p" "$2"; }

copy_headers() { cp "$1"/*.h "$1"/*.cuh "$TMP/source" 2>/dev/null || true; }

# The dtypes of the named cases: "f32,bf16"
dtypes_of() { # LAB CASE,CASE
    awk -v cases=",$2," 'index(cases, "," $1 ",") && /^[a-z]/ {
        print match($0, / dtype=[a-z0-9|]*/) ? substr($0, RSTART + 7, RLENGTH - 7) : "f32"
    }' labs/"$1"_*/cases | tr '|' '\n' | sort -u | paste -sd,
}

# mutant_dtypes: if set, only these are compiled
mutant_edit() { # SOLUTION-FILES EDIT OUT
    [ -n "$1" ] || {
        echo "$2: the solution has no file '$(header_of of "$2")'"
        return 1
    }
    # shellcheck disable=SC2086
    set -- "$2" "$3" $1
    mutant_of=$1 mutant_out=$2 mutant_dir=$(dirname "$3")
    copy_headers "$mutant_dir"
    shift 2
    case $1 in
    *.cuh)
        mutant_with=$(header_of with "$mutant_of")
        [ -z "$mutant_with" ] || mutant_with=$mutant_dir/$mutant_with
        set -- ${mutant_with:-$(grep -l "include \"$(basename "$1")\"" "$mutant_dir"/*.cu)} "$1"
        ;;
    *) set -- "$@" $(ls "$mutant_dir"/*.cuh 2>/dev/null) ;;
    esac
    # shellcheck disable=SC2086
    "$PYTHON" tests/mutants/edit.py ${mutant_dtypes:+--dtypes $mutant_dtypes} \
        $(smaller=$(ls "$(dirname "$mutant_of")"/*.smaller 2>/dev/null) && echo --smaller "$smaller") \
        "$@" "$mutant_of" "$mutant_out"
}

mutant() {
    lab=$1 file=$2
    name=$lab/$(basename "$file")
    if [ "$BACKEND" != cpu ]; then
        [ -z "$(header_of only "$file")" ] && ! header_of says "$file" | grep -q "thread order" || {
            skip "$name" "only the CPU back end finds it"
            return
        }
    fi
    fails=$(header_of fails "$file" | paste -sd,)
    passes=$(header_of passes "$file" | paste -sd,)
    scale=$(header_of scale "$file")
    mutant_dtypes=$(dtypes_of "$lab" "$fails,$passes")
    mkdir -p "$TMP/source"
    rm -f "$TMP"/source/*
    of=$(header_of of "$file")
    solution=${MUTANT_OF:-$(ls solutions/"$lab"_*/${of:-*.cu} 2>/dev/null)}
    source=$TMP/source/mutant.cu
    case $file in
    *.edit) mutant_edit "$solution" "$file" "$source" >"$TMP/.out" 2>&1 ;;
    *) cp "$file" "$source" && copy_headers "$(dirname "$file")" ;;
    esac && mutant_make "$lab" "$source" "$(header_of checked "$file")" >"$TMP/.out" 2>&1
    if [ $? != 0 ]; then
        echo "not ok - $name cannot be built"
        tap_show
        tap_failed=1
        return
    fi
    [ -z "$(header_of unscanned "$file")" ] ||
        sed -i 's/"breaches": \[$/"breaches": [], "scanned": [/' "$TMP/build/labs/$lab.json"
    BUILD=$TMP/build timeout 120 ./grade "$lab" -k "$fails${passes:+,$passes}" --seed 0x5eed --timeout-scale "${scale:-1}" \
        --json "$TMP/verdicts.json" >"$TMP/.out" 2>&1
    rc=$?
    wrong=$(mutant_verdict "$lab" "$fails" "$file")
    if [ -z "$wrong" ]; then
        echo "ok - $name"
    else
        echo "not ok - $name: $wrong"
        tap_show
        tap_failed=1
    fi
}

# Prints what differs from the mutant's header; nothing if all is as it says.
mutant_verdict() { # LAB FAILS FILE
    [ -n "$2" ] || echo "has no line 'fails: case,case'"
    failed='fail|crash|timeout'
    [ -n "$(header_of checked "$3")" ] || failed="$failed|skip"
    verdicts=$(awk -F'"' '$2 == "name" { name = $4 } $2 == "verdict" { print name, $4 }' \
        "$TMP/verdicts.json")
    case $rc in 1 | 3 | 4) ;; *) echo "exit $rc" ;; esac
    for case in $(echo "$2" | tr , ' '); do
        echo "$verdicts" | grep -qxE "$case ($failed)" ||
            echo "case $case should fail"
    done
    for case in $(echo "$passes" | tr , ' '); do
        echo "$verdicts" | grep -qx "$case pass" ||
            echo "case $case should pass"
    done
    header_of says "$3" | while read -r words; do
        grep -qF -- "$words" "$TMP/.out" || echo "the report does not say '$words'"
    done
}
