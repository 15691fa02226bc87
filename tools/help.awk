# help.awk - prints the targets of the makefiles by section, from their `## section: text`.
# With -v all=1 also those marked `##+`. With -v handout=1 without what a handout has not:
# solutions, tests, and what makes a handout.
BEGIN { count = split("learn course models measure develop", sections, " ") }
/^[a-zA-Z0-9%_.-]+:.*##[+]? [a-z]+: / {
    if (/##[+] / && !all) next
    target = $1
    sub(/:.*/, "", target)
    sub(/.*##[+]? /, "")
    section = $1
    sub(/:/, "", section)
    sub(/^[a-z]+: +/, "")
    if (handout) {
        if (section == "course" || (section == "develop" && target !~ /^(help|clean)/)) next
        sub(/, FROM=solutions: /, ": ")
        sub(/ \(FROM=solutions[^)]*\)/, "")
        if (target ~ /^(bench(-peers|-cpu)?|ladder-%)$/) next
    }
    lines[section] = lines[section] sprintf("  make %-22s %s\n", target, $0)
}
END {
    for (i = 1; i <= count; i++)
        if (lines[sections[i]]) printf "%s\n%s", sections[i], lines[sections[i]]
}
