"""dump.py - writes the inputs and expected outputs of a lab's cases.

    python reference/dump.py lab03 --seed 0x5eed --out DIR [--cases FILE] [-k PATTERN]

For each case (or variant case@1, case@2, ... of a case) and data set (a, b) it writes two
files:
    DIR/<case>.<set>.in.safetensors     a tensor per initialised buffer; in set a the
                                        metadata has the call as JSON
    DIR/<case>.<set>.want.safetensors   per judged output NAME (float64) and NAME.tol, the
                                        absolute tolerance of each element
If known mistakes show in a case, there is a third one for set a:
    DIR/<case>.a.causes.safetensors     NAME.if.<cause>, what a kernel with the mistake
                                        computes, or NAME.times.<cause>, a factor of the
                                        expected values for each row; the metadata has the
                                        words for it

It refuses cases that are too weak. Expected values must be well above the tolerance;
zeros, a constant, an input, half-precision sums and every known mistake must fail in some
case.
"""

import argparse
import fnmatch
import glob
import importlib
import json
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: others only wait

import numpy as np  # noqa: E402
import safetensors  # noqa: E402

import dry  # noqa: E402
import wb  # noqa: E402
from call import make_call  # noqa: E402
from cases import draw_case, read_cases  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAFETENSORS_TYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f64": "float64",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
}


def save(path, tensors, metadata):
    """tensors: {name: (element type, array of its bits)}"""
    specs, keep = {}, []
    for name, (E, bits) in tensors.items():
        bits = np.ascontiguousarray(bits)
        keep.append(bits)
        spec = {"dtype": SAFETENSORS_TYPES[E], "shape": list(bits.shape)}
        if hasattr(safetensors, "TensorSpec"):  # since 0.8
            spec = safetensors.TensorSpec(
                data_ptr=bits.ctypes.data, data_len=bits.nbytes, **spec
            )
        else:
            spec["data"] = bits.tobytes()
        specs[name] = spec
    # serialize_file would make a file that only this account can read.
    with open(path, "wb") as f:
        f.write(safetensors.serialize(specs, metadata))


def broken_if(condition, case, what):
    if condition:
        raise wb.Broken(f"{case['at']}: case {case['name']}: {what}")


# --- one case ---------------------------------------------------------------------------


def evaluate(module, case, call):
    """({output: y}, {name: every argument and scalar, outputs filled})"""
    values = dict(call.scalars, E=call.E)
    values.update((name, call.array(name)) for name in call.args)
    for name, a in call.args.items():  # for X_mistakes: an inout argument before the call
        if a["role"] == "inout":
            values[name + "_before"] = call.array(name)
    wb.by_name(getattr(module, case["function"]), values)
    return {name: values[name] for name in call.outputs()}, values


def expected(module, case, call):
    """{output: (y, tolerance, formula of the tolerance)}, and all values"""
    wants, values = evaluate(module, case, call)
    bounds_of = getattr(module, case["function"] + "_bounds", None)
    broken_if(bounds_of is None, case, f"{case['function']}_bounds is missing")
    bounds = wb.by_name(bounds_of, values)
    result = {}
    judged = case["judge"].split(",") if case["judge"] else wants
    for name in judged:
        broken_if(name not in wants, case, f"judge={name}: no output has that name")
        y = wants[name]
        E = call.args[name]["dtype"]
        broken_if(name not in bounds, case, f"output {name} has no bound")
        finite = np.isfinite(y)
        allowed = finite.all() or case["keys"].get("infinite")
        broken_if(not allowed or np.isnan(y).any(), case, f"expected {name} is not finite")
        tol = np.where(finite, bounds[name].tolerance(y, E), np.float32(0))
        broken_if(not np.isfinite(tol).all(), case, f"tolerance of {name} is not finite")
        if y.size and not bounds[name].exact:
            size, slack = (np.sqrt(np.mean(x[finite].astype(float) ** 2)) for x in (y, tol))
            zero = not y.any() and slack <= wb.TYPES[E]["least"]  # exact: gscale=0
            broken_if(
                size < 16 * slack and not zero,
                case,
                f"expected {name} (rms {size:.1e}) is not well above its tolerance "
                f"({slack:.1e})",
            )
        result[name] = (y, tol, bounds[name].text(E))
    return result, values


def differs(got, y, tol):
    got = np.asarray(got, np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf
        wrong = ~(np.abs(got - y) <= tol)
        return bool(wrong.any() and np.any(wrong & (got != y)))


def tells(case, want):
    """Does the case judge values? Not if an output is empty or an error is expected."""
    return case["status"] == "WB_OK" and all(y.size for y, _, _ in want.values())


# Of more elements only factors of rows are stored: the files would take longer to write
# than the case to grade, and smaller cases name the other mistakes.
MANY_ELEMENTS = 1 << 18
MANY_IN_VARIANTS = 1 << 12  # of each variant after the first


def wrong_results(module, case, values, few):
    """yields (cause, words, output, array, is it a factor of each row?) of the known
    mistakes; few=False: only the factors, which are small whatever the output"""
    for kind in ("mistakes", "factors"):
        of = getattr(module, f"{case['function']}_{kind}", None)
        if of is None or (kind == "mistakes" and not few):
            continue
        for cause, words, wrong in wb.by_name(of, values):
            for name, got in wrong.items():
                yield cause, words, name, got, kind == "factors"


def mistakes(module, case, call, values, want):
    """[(cause, words, output, array, is it a factor of each row?)] of those that give
    another result here, and {cause: does it?} of all"""
    found, told = [], {}
    if not tells(case, want):
        return found, told
    most = MANY_ELEMENTS if case["first"] else MANY_IN_VARIANTS
    few = max(y.size for y, _, _ in want.values()) <= most
    values = dict(values, memory=call.memory)
    with np.errstate(all="ignore"):
        for cause, words, name, stored, factor in wrong_results(module, case, values, few):
            told.setdefault(cause, False)
            if name not in want:
                continue
            y, tol, _ = want[name]
            got = y * stored if factor else np.broadcast_to(stored, y.shape)
            # NaN: wrong, but unknown. Half of it must be known; where the shape is
            # one of many, the report names it only if what is known differs, too.
            unknown = np.isnan(got) & (not cause.startswith("nan_"))
            if unknown.mean() > 0.5 or not differs(got, y, tol):
                continue
            told[cause] = True
            known = got if case["first"] else np.where(unknown, y, got)
            if known is got or differs(known, y, tol):
                found.append((cause, words, name, stored if factor else got, factor))
    return found, told


def write_inputs(directory, case, call, seed, data_set):
    description = {
        "case": case["name"],
        "function": case["function"],
        "dtype": call.E,
        "scalars": call.scalars,
        "buffers": [
            {"name": n, "dtype": wb.TYPES[b["dtype"]]["file"], "elements": b["elements"]}
            for n, b in call.buffers.items()
        ],
        "args": [
            dict(a, name=n, dtype=wb.TYPES[a["dtype"]]["file"])
            for n, a in call.args.items()
        ],
        "seed": seed,
        "dry": case["dry"],
        "drawn": case.get("drawn", ""),
    }
    tensors = {n: (b["dtype"], b["bits"]) for n, b in call.buffers.items()}
    tensors = {n: t for n, t in tensors.items() if t[1] is not None}
    path = f"{directory}/{case['name']}.{data_set}.in.safetensors"
    save(path, tensors, {"call": json.dumps(description)} if data_set == "a" else None)


def write_wants(directory, case, want, data_set):
    tensors = {}
    for name, (y, tol, _) in want.items():
        tensors[name] = ("f64", np.asarray(y, np.float64))
        tensors[name + ".tol"] = ("f32", tol)
    tolerance = {name: text for name, (_, _, text) in want.items()}
    metadata = {"tolerance": json.dumps(tolerance)}
    save(f"{directory}/{case['name']}.{data_set}.want.safetensors", tensors, metadata)


def write_causes(directory, case, wrong):
    tensors, causes = {}, {}
    for cause, words, name, got, factor in wrong:
        key = f"{name}.{'times' if factor else 'if'}.{cause}"
        with np.errstate(over="ignore"):  # inf is what a kernel in float gets
            tensors[key] = ("f32", np.asarray(got, np.float32))
        causes[key] = words
    path = f"{directory}/{case['name']}.a.causes.safetensors"
    if wrong:
        save(path, tensors, {"causes": json.dumps(causes)})


# --- do the cases tell wrong results from right ones? -----------------------------------


def impostors(call, want):
    """yields (what, output, array): results that need no work"""
    for name, (y, _, _) in want.items():
        yield "zeros", name, np.zeros_like(y)
        yield "ones", name, np.ones_like(y)
        yield "a constant", name, np.full_like(y, np.mean(y, where=np.isfinite(y)))
        for other, a in call.args.items():
            same = a["shape"] == call.args[name]["shape"]
            if same and a["role"] != "out" and not a["null"]:
                yield f"{other} copied to {name}", name, call.array(other)


def half_impostors(module, case, call, want):
    """yields (output, array) computed with sums in f16, the more accurate half precision;
    if the function has no sums, the result rounded to f16"""
    with wb.half_sums("f16"), np.errstate(all="ignore"):
        halves, _ = evaluate(module, case, call)
    for name, (y, _, _) in want.items():
        half = halves[name]
        if np.array_equal(half, y) and call.args[name]["dtype"] == "f32":
            half = wb.rounded(y, "f16")
        yield name, half


class Proofs:
    """(function, impostor or mistake): does it fail in some case?"""

    def __init__(self):
        self.seen = {}

    def record(self, case, what, told):
        """A case with sizes drawn at random may reveal something, but need not."""
        if told or not case["drawn"]:
            key = case["function"], what
            self.seen[key] = self.seen.get(key, False) or told

    def case(self, module, case, call, want, causes):
        function = case["function"]
        if not tells(case, want):
            return
        for what, name, got in impostors(call, want):
            y, tol, _ = want[name]
            self.record(case, f"{what} in {name}", differs(got, y, tol))
        if not self.seen.get((function, "half precision")):
            for name, got in half_impostors(module, case, call, want):
                y, tol, _ = want[name]
                self.record(case, "half precision", differs(got, y, tol))
        for cause, told in causes.items():
            self.record(case, f"mistake {cause}", told)

    def judge(self, path):
        for (function, what), told in self.seen.items():
            if not told:
                what = f"no case of {function} reveals {what}"
                raise wb.Broken(f"{path}: {what}")


# --- the program ------------------------------------------------------------------------


def find_lab(lab):
    found = [d for d in glob.glob(f"{ROOT}/labs/{lab}*") if os.path.isdir(d)]
    if len(found) != 1:
        labs = sorted(os.path.basename(d) for d in glob.glob(f"{ROOT}/labs/lab*_*"))
        raise wb.Broken(f"no lab {lab!r}; the labs are {', '.join(labs)}")
    op = os.path.basename(found[0]).split("_", 1)[1]
    if not os.path.exists(f"{ROOT}/reference/{op}.py"):
        raise wb.Broken(f"reference/{op}.py is missing: {lab} needs it")
    return found[0], importlib.import_module(op)


def apply_bad(case, call):
    for name, value in case["bad"].items():
        known = call.args if value == "null" else call.scalars
        what = "argument" if value == "null" else "scalar"
        good = name in known and case["status"] != "WB_OK"
        broken_if(not good, case, f"bad={name}: no such {what}, or no status=")
        if value == "null":
            call.args[name]["null"] = True
        else:  # JSON has no NaN
            call.scalars[name] = None if value != value else value


MOST_DRAWS = 50


def draw(options, module, case, lab):
    """Returns the case with its random values chosen, and the call, expected results and
    values of both data sets. Data that cannot tell right from wrong is drawn again."""
    infinite = case["keys"].get("infinite")
    for attempt in range(MOST_DRAWS):
        drawn = draw_case(case, lab, options.seed, attempt)
        try:
            sets = []
            for data_set in "ab":
                call = make_call(module, drawn, lab, options.seed, data_set)
                with np.errstate(invalid="ignore" if infinite else "warn"):
                    sets.append((call, *expected(module, drawn, call)))
            return drawn, sets
        except wb.Broken:
            if not drawn["drawn"] or attempt == MOST_DRAWS - 1:
                raise


def dump_variant(options, folder, module, case, proofs):
    lab = os.path.basename(folder)
    if case["dry"]:
        case = draw_case(case, lab, options.seed, 0)
        for data_set in "ab":
            call = dry.make_call(folder, case)
            write_inputs(options.out, case, call, options.seed, data_set)
            write_wants(options.out, case, {}, data_set)
        return
    case, sets = draw(options, module, case, lab)
    for data_set, (call, want, values) in zip("ab", sets):
        if data_set == "a":
            wrong, causes = mistakes(module, case, call, values, want)
            proofs.case(module, case, call, want, causes)
            write_causes(options.out, case, wrong)
        apply_bad(case, call)
        write_inputs(options.out, case, call, options.seed, data_set)
        write_wants(options.out, case, want, data_set)


def dump(options):
    folder, module = find_lab(options.lab)
    lab = os.path.basename(folder)
    path = os.path.relpath(options.cases or f"{folder}/cases")
    cases = read_cases(path)
    whole = not options.cases and not options.k and not options.first
    points = sum(case["points"] for case in cases.values())
    if whole and points != 100:
        raise wb.Broken(f"{path}: the points add up to {points}, not 100")
    chosen = [c for c in cases.values() if not options.k or matches(c, options.k, cases)]
    if not chosen:
        raise wb.Broken(f"{path}: no case matches {options.k!r}")
    os.makedirs(options.out, exist_ok=True)
    proofs = Proofs()
    for case in (variant for c in chosen for variant in c["variants"][: options.first]):
        dump_variant(options, folder, module, case, proofs)
    if whole:
        proofs.judge(path)
    print(f"{lab}: {len(chosen)} cases from seed {options.seed:#x} in {options.out}")


def matches(case, patterns, names):
    """as ./grade -k: the name of a case; else shell patterns, parts of names, or part
    numbers"""
    return any(
        p == case["name"] if p in names else
        p in case["name"] or fnmatch.fnmatch(case["name"], p) or p == case["part"]
        for p in patterns.split(",")
        if p
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lab", help="lab03 or lab03_rmsnorm")
    parser.add_argument("--seed", type=lambda s: int(s, 0), default=0x5EED)
    parser.add_argument("--out", required=True, help="folder for the tensors")
    parser.add_argument("--cases", help="another cases file")
    parser.add_argument(
        "-k", metavar="PATTERN", help="only cases whose name contains this"
    )
    parser.add_argument(
        "--first",
        action="store_const",
        const=1,
        help="only the first variant of each case",
    )
    try:
        dump(parser.parse_args())
    except (wb.Broken, OSError) as error:
        sys.exit(f"dump: {error}")


if __name__ == "__main__":
    main()
