"""cases.py - reads a file of cases, and draws those of their values that are random."""

import itertools
import math
import zlib

import numpy as np

from wb import Broken


def number(text):
    for kind in (lambda s: int(s, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


GRADERS_KEYS = (
    "status",
    "workspace_less",
    "workspace_below",
    "dry",
    "bound",
    "sms",
    "arch",
)  # only the grader uses them


MAX_VARIANTS = 64  # as in grader/cases.h


def read_bad(text, at):
    """bad=ld:1,x:null as {"ld": 1, "x": "null"}"""
    pairs = [pair.split(":") for pair in text.split(",") if pair]
    if any(len(pair) != 2 for pair in pairs):
        raise Broken(f"{at}: bad={text}: use bad=NAME:VALUE,NAME:VALUE")
    return {name: number(value) for name, value in pairs}


def read_variants(keys, at):
    """Yields (words, keys): each choice of one alternative per key, the last key fastest.
    words: the chosen alternatives, "C=32 inplace=1". The key T/S has pairs as values,
    T/S=9/64|2/16: they do not multiply. 12*x is the alternative x, twelve times."""
    values = [list(repeated(value)) for value in keys.values()]
    count = math.prod(map(len, values))
    if count > MAX_VARIANTS:
        raise Broken(f"{at}: {count} variants, more than {MAX_VARIANTS}")
    several = [key for key, of in zip(keys, values) if len(of) > 1]
    for choice in itertools.product(*values):
        if "" in choice:
            raise Broken(f"{at}: an alternative is empty")
        chosen = dict(zip(keys, choice))
        words = dict(apart({key: chosen[key] for key in several}, at))
        yield " ".join(f"{key}={value}" for key, value in words.items()), dict(apart(chosen, at))


def repeated(value):
    for one in value.split("|"):
        times, star, rest = one.partition("*")
        yield from [rest] * int(times) if star and times.isdigit() else [one]


def apart(chosen, at):
    """Yields the keys one by one: T/S=9/64 as T=9 and S=64"""
    for key, value in chosen.items():
        names, values = [key], [value]
        if "/" in key:
            names, values = key.split("/"), value.split("/")
            if len(names) != len(values):
                raise Broken(f"{at}: {key}={value}: as many values as names, with / between")
            if {"dtype", "judge", "bad", "off", *GRADERS_KEYS} & {*names}:
                raise Broken(f"{at}: {key}: the keys that every function has stand alone")
        yield from zip(names, values)


def read_case(line, at, earlier):
    """name part points function key=value ... ; needs ; what it catches

    Every function has four keys: dtype (default f32); judge (default: all outputs), the
    outputs that count in this case, with commas; the others may hold anything; and off,
    the arguments that start one element after a 16-byte boundary, with commas. off=each
    is for the grader: two more calls for each buffer, which then alone starts one element,
    then 8 bytes, after one.
    bad=ld:1 passes 1 for ld, to data that is laid out without it, and bad=x:null passes
    NULL for the argument x: with status=.
    A value may have alternatives, C=31|32|33. The case's `variants` are all combinations.
    Several have the names case@1, case@2, ...
    """
    fields, *rest = [part.strip() for part in line.split(";", 2)]
    fields = fields.split()
    if len(fields) < 4 or len(rest) != 2:
        form = "name part points function key=value ... ; needs ; catches"
        raise Broken(f"{at}: a case is: {form}")
    name, part, points, function, *keys = fields
    if name in earlier:
        raise Broken(f"{at}: case {name} appears twice")
    if not points.isdigit():
        raise Broken(f"{at}: points of {name}: not a whole number: {points}")
    if not all("=" in key for key in keys):
        raise Broken(f"{at}: {name}: expected key=value, got {' '.join(keys)}")
    keys = dict(key.split("=", 1) for key in keys)
    needs = [] if rest[0] == "-" else [n.strip() for n in rest[0].split(",")]
    for need in needs:
        if need not in earlier:
            raise Broken(f"{at}: {name} needs {need}, which is not an earlier case")
    case = {"name": name, "at": at, "part": part, "points": int(points)}
    case.update(function=function, needs=needs, catches=rest[1])
    variants = [dict(case, **read_keys(*v, at)) for v in read_variants(keys, at)]
    for n, variant in enumerate(variants, 1):
        variant["first"] = n == 1
        if len(variants) > 1:
            variant["name"] += f"@{n}"
            variant["at"] += f" with {variant['words']}"
    return dict(variants[0], name=name, at=at, variants=variants)


def read_keys(words, keys, at):
    return {
        "words": words,
        "dtype": keys.pop("dtype", "f32"),
        "judge": keys.pop("judge", ""),
        "dry": keys.get("dry") == "1",
        "status": keys.get("status", "WB_OK"),
        "bad": read_bad(keys.pop("bad", ""), at),
        "off": [n for n in keys.pop("off", "").split(",") if n not in ("", "each")],
        "keys": {k: number(v) for k, v in keys.items() if k not in GRADERS_KEYS},
    }


# --- values drawn at random -------------------------------------------------------------


def draw_one(rng, text, keys):
    """~1..300: a whole number from 1 to 300; ~16..256:8: a multiple of 8; ~0..D: at most the
    value of D; ~a,b,c: one of them. A third of the numbers are drawn from a logarithmic
    scale, a third near (2, 3 or 5) * 2^k, where kernels switch paths, and a third are
    multiples of 4 to 64."""
    low, dots, high = text.partition("..")
    if not dots:
        choices = text.split(",")
        return number(choices[rng.integers(len(choices))])
    high, _, step = high.partition(":")
    low, high, step = int(low), int(keys.get(high, high)), int(step or 1)
    kind = rng.integers(3)
    if kind == 0:
        x = np.exp(rng.uniform(np.log(low + 0.5), np.log(high + 0.5)))
    elif kind == 1:
        x = rng.choice([2, 3, 5]) * 2 ** rng.integers(high.bit_length())
        x += rng.choice([-8, -4, -1, 0, 1, 4, 8])
    else:
        unit = 4 << rng.integers(5)
        x = unit * rng.integers(1, high // unit + 2)
    x = int(round(x / step)) * step
    return x if low <= x <= high else draw_one(rng, text, keys)


def draw_case(case, lab, seed, attempt):
    """The case with its random values chosen, in the order of the keys. H*D+~0..9 adds to
    the product of the values of H and D. They depend only on (lab, case, seed, attempt)."""
    names = [zlib.crc32(s.encode()) for s in (lab, case["name"], "draw")]
    rng = np.random.default_rng([seed, attempt, *names])
    keys, drawn = dict(case["keys"]), []
    for key, value in keys.items():
        base, random, text = value.partition("~") if isinstance(value, str) else ("", "", "")
        if not random:
            continue
        keys[key] = draw_one(rng, text, keys)
        if base:
            keys[key] += math.prod(keys[factor] for factor in base.rstrip("+").split("*"))
        drawn.append(f"{key}={keys[key]}")
    return dict(case, keys=keys, drawn=" ".join(drawn))


def read_cases(path):
    """{name: case} in the order of the file"""
    cases = {}
    with open(path, encoding="utf-8") as lines:
        for n, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                case = read_case(line.strip(), f"{path}:{n}", cases)
                cases[case["name"]] = case
    return cases
