#!/bin/sh
# libvx as a meson subproject of another project. subproject.sh BUILD SOURCE
set -eu
work=$1/subproject
source=$2
command -v git >/dev/null 2>&1 && git -C "$source" rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git work tree: its files are not known"; exit 77; }
app=$work/app
libvx=$app/subprojects/libvx
mkdir -p "$libvx"
# Only what changed is written, so that a second run has little to build.
git -C "$source" ls-files -z --cached --others --exclude-standard | (cd "$source" && tar -c --null --ignore-failed-read -T - 2>/dev/null) >"$work/libvx.tar"
rm -rf "$work/fresh"
mkdir "$work/fresh"
tar -x -f "$work/libvx.tar" -C "$work/fresh"
copy() { (cd "$1" && find . -type f) | while read -r f; do cmp -s "$1/$f" "$2/$f" || { mkdir -p "$2/$(dirname "$f")"; cp "$1/$f" "$2/$f"; }; done; }
(cd "$libvx" && find . -type f) | while read -r f; do [ -f "$work/fresh/$f" ] || rm "$libvx/$f"; done
copy "$work/fresh" "$libvx"
copy "$source/tests/subproject/app" "$app"

export CCACHE_NOHASHDIR=1
if [ ! -f "$work/build/build.ninja" ]; then
  if command -v ccache >/dev/null 2>&1 && [ -z "${CC:-}${CXX:-}" ]; then export CC='ccache cc' CXX='ccache c++'; fi
  meson setup "$work/build" "$app" -Dbuildtype=plain -Doptimization=0 >"$work/setup.log" || { cat "$work/setup.log"; exit 1; }
fi
ninja -C "$work/build" >"$work/build.log" || { tail -n 40 "$work/build.log"; exit 1; }
[ ! -e "$work/build/subprojects/libvx/bindings/cli/vx" ] || { echo "a subproject builds the command"; exit 1; }
meson test -C "$work/build" --no-rebuild --no-suite libvx >"$work/test.log" || { cat "$work/test.log"; exit 1; }
rm -rf "$work/stage"
meson install -C "$work/build" --no-rebuild --quiet --destdir "$work/stage" >/dev/null
find "$work/stage" -type f -o -type l | sed "s,$work/stage,," | sort
[ -z "$(find "$work/stage" -name '*.h' -o -name '*.pc')" ] || { echo "a subproject installs headers of its own accord"; exit 1; }
