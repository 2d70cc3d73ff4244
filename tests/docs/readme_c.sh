#!/bin/sh
# The C example of README.md compiles as strict C99 against the headers as they are.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$root/README.md" >"$work/example.c"
grep -q vx_workspace_open "$work/example.c" || { echo "README.md has no C example"; exit 1; }
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/capi/include" "$work/example.c"
