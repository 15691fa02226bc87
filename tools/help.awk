# help.awk - prints the targets of the makefiles by section, from their `## section: text`.
# With -v all=1 also those marked `##+`.
BEGIN { count = split("learn course models measure develop", sections, " ") }
/^[a-zA-Z0-9%_.-]+:.*##[+]? [a-z]+: / {
    if (/##[+] / && !all) next
    target = $1
    sub(/:.*/, "", target)
    sub(/.*##[+]? /, "")
    section = $1
    sub(/:/, "", section)
    sub(/^[a-z]+: +/, "")
    lines[section] = lines[section] sprintf("  make %-22s %s\n", target, $0)
}
END {
    for (i = 1; i <= count; i++)
        printf "%s\n%s", sections[i], lines[sections[i]]
}
