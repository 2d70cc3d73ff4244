#!/bin/sh
# The exported names of the library, the names in its map and the VX_API declarations of its headers are one list.
# usage: symbols.sh <libvx.so> <vx.map> <header directory>
set -eu
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Version nodes are listed too, as absolute symbols (A).
nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/exported"
awk '/\*\/|^#/ { next } /global:/ { on = 1; next } /local:/ { on = 0 } on && /;/ { gsub(/[ \t;]/, ""); print }' "$2" | sort >"$work/map"
# Declarations may span lines; the name stands before the first parenthesis after VX_API.
cat "$3"/*.h | sed -e 's/^#.*//' | tr '\n' ' ' | sed -e 's/\/\*[^*]*\*\+\([^/*][^*]*\*\+\)*\///g' | tr ';' '\n' |
  sed -n -e 's/^.*VX_API[^(]*[ *]\(vx_[a-z0-9_]*\)(.*$/\1/p' | sort >"$work/headers"
[ -s "$work/map" ] && [ -s "$work/headers" ] || { echo "found no names in the map or the headers"; exit 1; }
[ -z "$(uniq -d "$work/map")" ] || { echo "listed twice in the map: $(uniq -d "$work/map")"; exit 1; }
same=0
diff -u "$work/map" "$work/exported" >"$work/diff" || { echo "the map (-) and the library (+) differ:"; cat "$work/diff"; same=1; }
diff -u "$work/map" "$work/headers" >"$work/diff" || { echo "the map (-) and the headers (+) differ:"; cat "$work/diff"; same=1; }
exit $same
