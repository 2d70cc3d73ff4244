#!/bin/sh
# mutate.sh [SWITCH...]: switches rules off one at a time and demands that the tests which name the switch fail. Needs a build that knows
# the switches and helper programs built against it:
#   meson setup build-mutations --buildtype=release -Dmutations=true
#   ninja -C build-mutations bindings/cli/vx tests/conformance/conformance-{platform,forge,lock} tests/conformance/libconformance-shim.so
#   VX_BIN        that build's vx (default build-mutations/bindings/cli/vx)
#   VX_BUILD_DIR  that build (default build-mutations): the program that stands for another platform links the library
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit 99
VX_BIN=${VX_BIN:-$root/build-mutations/bindings/cli/vx}
VX_BUILD_DIR=${VX_BUILD_DIR:-$root/build-mutations}
export VX_BIN VX_BUILD_DIR

# "SWITCH FILE NUMBER,NUMBER..." a line
table() {
  VX_CONFORMANCE_LIST=1 node --input-type=module -e '
    const { allRules } = await import("./tests/conformance/lib/rule.mjs");
    const of = new Map();
    for (const r of await allRules()) {
      if (!r.mutation) continue;
      const key = `${r.mutation} ${r.file}`;
      of.set(key, [...(of.get(key) ?? []), r.number]);
    }
    for (const [key, numbers] of [...of].sort()) console.log(`${key} ${numbers.join(",")}`);
    process.exit(0);'
}

red=0
green=0
total=0
list=$(mktemp)
tap=$(mktemp)
table > "$list"
while read -r switch file numbers; do
  [ $# -eq 0 ] || case " $* " in *" $switch "*) ;; *) continue ;; esac
  for number in $(echo "$numbers" | tr ',' ' '); do
    total=$((total + 1))
    if VX_MUTATION=$switch VX_RULES=$number node --test "tests/conformance/$file" > "$tap" 2>&1 < /dev/null; then
      green=$((green + 1))
      echo "GREEN  $number  $switch: the test does not see that the rule is gone"
    elif grep -q "^not ok" "$tap"; then
      red=$((red + 1))
      echo "red    $number  $switch"
    else
      green=$((green + 1))
      echo "BROKEN $number  $switch: the test did not run"
    fi
  done
done < "$list"
rm -f "$list" "$tap"
echo "$red of $total red"
[ "$green" = 0 ] && [ "$total" -gt 0 ]
