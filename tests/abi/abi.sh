#!/bin/sh
# The ABI of the headers against the recorded one. abi.sh [--update] [SOURCE]. Exit 77: no abidiff here.
set -eu
export LC_ALL=C
update=''
[ "${1:-}" != --update ] || { update=yes; shift; }
root=${1:-$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)}
baseline=$root/tests/abi/libvx-0.1.abi
command -v abidw >/dev/null 2>&1 && command -v abidiff >/dev/null 2>&1 || { echo "abidw and abidiff are not here (abigail-tools)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every declaration becomes a definition without a body worth the name.
{
  echo '#include <vx/vx.h>'
  cat "$root"/capi/include/vx/*.h | sed -e 's/^#.*//' | tr '\n' ' ' | sed -e 's/\/\*[^*]*\*\+\([^/*][^*]*\*\+\)*\///g' | tr ';' '\n' |
    sed -n -e 's/^.*VX_API \([^(]*[ *]vx_[a-z0-9_]*(.*)\)[ ]*$/\1 { __builtin_trap(); }/p'
} >"$work/stub.c"
[ "$(grep -c __builtin_trap "$work/stub.c")" = "$(grep -c '^ *vx_[a-z0-9_]*;$' "$root/capi/vx.map")" ] || {
  echo "the headers do not define every name of vx.map"
  exit 1
}
${CC:-cc} -std=c99 -g -O0 -fPIC -shared -w -I"$root/capi/include" -Wl,--version-script="$root/capi/vx.map" -Wl,-soname,libvx.so.0.1 \
  "$work/stub.c" -o "$work/libvx.so"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$work/now.abi" "$work/libvx.so"
sed -i -e "s, path='[^']*',,g" "$work/now.abi"
if [ -n "$update" ]; then
  cp "$work/now.abi" "$baseline"
  echo "$baseline"
  exit 0
fi
abidiff --no-show-locs "$baseline" "$work/now.abi" || {
  echo "the ABI is not the recorded one. Only additions? Then: sh tests/abi/abi.sh --update"
  exit 1
}
