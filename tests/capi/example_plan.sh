#!/bin/sh
# examples/c/plan prints a plan of a small workspace, and a reason when there is none.
set -eu
plan=$1
ws=$(mktemp -d)
trap 'rm -rf "$ws"' EXIT
mkdir "$ws/a" "$ws/b"
echo '{"name": "ws", "private": true, "workspaces": ["a", "b"]}' >"$ws/package.json"
echo '{"lockfileVersion": 3, "packages": {}}' >"$ws/package-lock.json"
echo '{"name": "a", "version": "1.0.0"}' >"$ws/a/package.json"
echo '{"name": "b", "version": "1.0.0", "dependencies": {"a": "*"}}' >"$ws/b/package.json"
for p in a b; do
  echo '{"tasks": {"build": {"description": "Say \"hi\"", "exec": {"command": "echo hi"}, "dependsOn": ["^build"]}}}' >"$ws/$p/vx.config.json"
done
out=$("$plan" "$ws" build)
echo "$out"
[ "$(echo "$out" | head -n 1)" = "2 tasks in $ws" ]
echo "$out" | grep -q '^  a#build  *no-cache *Say "hi"$'
echo "$out" | grep -q '^  b#build  *no-cache *Say "hi"$'
echo "$out" | grep -q '^ *after a#build$'
! "$plan" "$ws" biuld 2>"$ws/err"
grep -q 'biuld' "$ws/err"
! "$plan" / build 2>"$ws/err"
grep -q 'VX_E_NO_WORKSPACE' "$ws/err"
