#!/bin/sh
# examples/cpp/run runs two tasks, shows their lines with their names and exits as a command line would.
set -eu
run=$1
ws=$(mktemp -d)
trap 'rm -rf "$ws"' EXIT
export HOME="$ws/home" VX_CACHE_DIR="$ws/store"
mkdir -p "$ws/home" "$ws/w/a" "$ws/w/b"
echo '{"name": "ws", "private": true, "workspaces": ["a", "b"]}' >"$ws/w/package.json"
echo '{"name": "a", "version": "1.0.0"}' >"$ws/w/a/package.json"
echo '{"name": "b", "version": "1.0.0", "dependencies": {"a": "*"}}' >"$ws/w/b/package.json"
for p in a b; do
  echo '{"tasks": {"build": {"exec": {"command": "echo one; echo two"}, "dependsOn": ["^build"]}, "bad": {"exec": {"command": "exit 3"}}}}' >"$ws/w/$p/vx.config.json"
done
out=$("$run" "$ws/w" build)
echo "$out"
for p in a b; do
  echo "$out" | grep -q "^$p#build | two$"
  echo "$out" | grep -q "^$p#build: success$"
done
code=0
"$run" "$ws/w" bad >"$ws/out" 2>&1 || code=$?
[ "$code" = 1 ]
grep -q '^a#bad: failed$' "$ws/out"
code=0
"$run" "$ws/w" biuld 2>"$ws/err" || code=$?
[ "$code" = 2 ]
grep -q "VX_E_UNKNOWN_TASK: .*biuld" "$ws/err" || { cat "$ws/err"; exit 1; }
