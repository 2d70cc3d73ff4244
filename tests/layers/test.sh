#!/bin/sh
# test.sh ROOT: the tree keeps to the layer table, and the check can fail (the fixture breaks every rule once).
set -u
cd "$1" || exit 99
here=tests/layers

check() { # check DIR: the includes of the tree below DIR
  (cd "$1" && find lib capi bindings -name node_modules -prune -o \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -print |
    LC_ALL=C sort | xargs awk -v table="$2" -f "$3" "$2")
}

table=$(pwd)/$here/layers.txt
program=$(pwd)/$here/check.awk
status=0

# Standing beside a folder that is not in the table would pass unseen.
for folder in lib/*/; do
  grep -q "^${folder%/}:" "$table" || { echo "${folder%/} is not in $here/layers.txt"; status=1; }
done

if ! check . "$table" "$program"; then
  echo "includes that docs/architecture.md does not allow (above)"
  status=1
fi

found=$(check "$here/fixture" "$table" "$program")
if [ "$found" != "$(cat "$here/fixture/expected.txt")" ]; then
  echo "the check no longer finds what the fixture breaks; it found:"
  echo "$found"
  status=1
fi
exit $status
