#!/bin/sh
# examples/python/plan.py: the ABI needs neither C++ nor a compiler.
set -eu
script=$1
library=$2
ws=$(mktemp -d)
trap 'rm -rf "$ws"' EXIT
echo '{"name": "solo"}' >"$ws/package.json"
echo '{"tasks": {"build": {"exec": {"command": "echo hi"}}}}' >"$ws/vx.config.json"
python3 "$script" "$library" "$ws" | grep -q '^solo#build  *no-cache$'
! python3 "$script" "$library" "$ws" biuld 2>"$ws/err"
grep -q biuld "$ws/err"
