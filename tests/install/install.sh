#!/bin/sh
# The installed library as strangers use it: every example built through pkg-config, shared and static, from C and C++, and run.
#   install.sh BUILD SOURCE
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$work/stage" >/dev/null
pc=$(find "$work/stage" -name vx.pc)
libs=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$work/stage" LD_LIBRARY_PATH="$libs" DYLD_LIBRARY_PATH="$libs"

test -f "$libs/../../include/vx/vx.h" || test -f "$libs/../include/vx/vx.h"
[ "$(pkg-config --modversion vx)" = "$(pkg-config --modversion vx-static)" ]

# compile KIND PACKAGE SOURCE OUT
compile() {
  case $1 in
    c) compiler="${CC:-cc} -std=c99" ;;
    cpp) compiler="${CXX:-c++} -std=c++20" ;;
  esac
  # shellcheck disable=SC2046,SC2086
  $compiler -Wall -Wextra -Wpedantic -Werror -Wno-restrict -O1 "$3" -o "$4" $(pkg-config --cflags --libs "$2")
}
for package in vx vx-static; do
  for example in plan memo order; do compile c $package "$source/examples/c/$example.c" "$work/$example-$package"; done
  compile cpp $package "$source/examples/cpp/run.cpp" "$work/run-$package"
done
# A C program is a C++ program too, but for the casts that C need not write.
printf '#include <vx/vx.h>\n#include <cstdio>\nint main() { return std::puts(vx_version()) < 0; }\n' >"$work/version.cpp"
for package in vx vx-static; do
  compile cpp $package "$work/version.cpp" "$work/version-$package"
  [ "$("$work/version-$package")" = "$(pkg-config --modversion vx)" ]
done
! ldd "$work/plan-vx-static" | grep -q 'libvx' || { echo "the static program needs libvx.so"; exit 1; }

for package in vx vx-static; do
  sh "$source/tests/capi/example_plan.sh" "$work/plan-$package" >/dev/null
  sh "$source/tests/capi/example_memo.sh" "$work/memo-$package" >/dev/null
  sh "$source/tests/capi/example_order.sh" "$work/order-$package" >/dev/null
  sh "$source/tests/capi/example_run.sh" "$work/run-$package" >/dev/null
done
if command -v python3 >/dev/null 2>&1; then
  so=$(find "$libs" -name 'libvx.so' -o -name 'libvx.dylib')
  sh "$source/tests/capi/example_ctypes.sh" "$source/examples/python/plan.py" "$so"
fi
echo "installed, built and run: 4 programs, shared and static"
