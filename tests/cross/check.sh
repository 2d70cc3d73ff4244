#!/bin/sh
# check.sh TARGET COMPILER...: compiles each source for a target, prints the files that fail. TARGET is linux or macos.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
target=$1
shift
other=$([ "$target" = linux ] && echo macos || echo linux)
work=build/cross/$target
mkdir -p "$work/include"

# The headers of our dependencies, without the system's own beside them: those belong to another machine.
for name in boost rapidjson tl fmt doctest re2 nettle yaml.h sqlite3.h xxhash.h zstd.h zstd_errors.h archive.h archive_entry.h; do
  [ ! -e "/usr/include/$name" ] || ln -sfn "/usr/include/$name" "$work/include/$name"
done
for header in /usr/include/*-linux-gnu/gmp.h; do
  [ ! -e "$header" ] || ln -sfn "$header" "$work/include/gmp.h"
done

cat >"$work/one.sh" <<'EOF'
# one.sh SOURCE: silent when it compiles.
object=$CROSS_WORK/$$.o
$CROSS_CXX -std=c++20 -w -Ilib -Icapi/include -Ibindings -isystem "$CROSS_WORK/include" $CROSS_NODE -DFMT_HEADER_ONLY=1 -DBOOST_ALL_NO_LIB \
  -D_FILE_OFFSET_BITS=64 -DVX_VERSION_TEXT='"0"' -c -o "$object" "$1" 2>"$object.log" || { echo "$1"; cat "$object.log"; rm -f "$object.log"; exit 1; }
rm -f "$object" "$object.log"
EOF
# The addon compiles where its headers are.
addon=''
CROSS_NODE=''
if [ -d bindings/node/node_modules ]; then
  addon='bindings/node/*.cpp'
  CROSS_NODE="-isystem bindings/node/node_modules/node-addon-api -isystem bindings/node/node_modules/node-api-headers/include -DNAPI_VERSION=8
    -DNAPI_CPP_EXCEPTIONS -DNODE_ADDON_API_CPP_EXCEPTIONS_ALL"
fi
export CROSS_CXX="$*" CROSS_WORK="$work" CROSS_NODE
git ls-files --cached --others --exclude-standard -- 'lib/*.cpp' 'capi/src/*.cpp' 'bindings/cli/*.cpp' ${addon:+"$addon"} | grep -v "_$other\.cpp\$" |
  xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" sh "$work/one.sh"
echo "$target: every source compiles"
