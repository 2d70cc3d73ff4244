#!/bin/sh
# Runs vx on examples/monorepo: cold, warm, with outputs deleted, after one edit. Leaves the git tree as it was.
# VX_BIN names the program (./dev demo sets it).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
vx=${VX_BIN:-$here/../build/vx}
[ -x "$vx" ] || { echo "demo: no vx at $vx; build it first (./dev build)" >&2; exit 1; }
cd "$here/monorepo"

# A store of the demo's own, so that the first run is cold whatever was built before.
export VX_CACHE_DIR=.vx/demo-cache
unset CI || true
edited=packages/units/src/index.ts
saved=.vx/demo-saved.ts

restore() { [ ! -f "$saved" ] || mv -f "$saved" "$edited"; }
trap restore EXIT
trap 'exit 130' INT TERM

wipe() { rm -rf packages/*/dist apps/*/dist apps/report/report.txt native/checksum/bin; }
step() { printf '\n\033[1m== %s\033[0m\n%s\n\n$ vx %s\n' "$1" "$2" "$3"; }
go() { "$vx" "$@"; }

echo 'Installing with npm ci ...'
npm ci --no-audit --no-fund --silent
rm -rf .vx
mkdir -p .vx
wipe

step '1. Cold' 'Nothing is cached: every task runs, each after what it depends on. Look at the order of the rows.' \
  'run build test lint --all'
go run build test lint --all

step '2. Warm' 'Nothing changed: nothing runs. Look at "all cached" and the time.' 'run build test lint --all'
go run build test lint --all

wipe
step '3. Outputs deleted' 'Every dist/ is gone; it comes back from the cache, bytes, modes and times. Look at "local" in the cache line.' \
  'run build test lint --all'
go run build test lint --all

step '   The app' 'A task named like this shows its own output as it comes; what it needs stays quiet.' 'run shop#start'
go run shop#start

cp -p "$edited" "$saved"
sed 's/piece: .pc./piece: '"'x'"'/' "$saved" > "$edited"
step '4. One edit in packages/units' 'What depends on units runs again; text, locale and the C program do not. One test now fails: look at its frame.' \
  'run build test lint --all'
go run build test lint --all || echo '(exit 1, as it should)'

restore
step '5. Edit reverted' 'The old results are still there: all cached again.' 'run build test lint --all'
go run build test lint --all

step '6. What would run' 'A plan reads everything and runs nothing.' 'run build --all --dry'
go run build --all --dry
