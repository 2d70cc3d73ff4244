#!/bin/sh
# examples/c/memo compiles, takes objects from its store, and says why it could not.
set -eu
memo=$1
case $memo in /*) ;; *) memo=$PWD/$memo ;; esac
cc=${CC:-cc}
case $cc in *' '*) cc=cc ;; esac # a wrapped compiler is another command line
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ws=$work/ws
MEMO_DIR=$work/store
export MEMO_DIR LC_ALL=C
unset SOURCE_DATE_EPOCH CPATH C_INCLUDE_PATH || true
mkdir -p "$ws/src" "$ws/inc" "$work/later"
cd "$ws"
ws=$(pwd -P)
printf '#include "src/a.h"\n#include <limits.h>\n#include "b.h"\nint main(void) { return A + B - INT_MAX; }\n' >x.c
echo '#define A 1' >src/a.h
echo '#define B 2' >inc/b.h
fail() { echo "$1"; cat "$work/err"; exit 1; }
memo() { "$memo" "$@" 2>"$work/err" || fail "memo failed: $*"; }
said() { grep -qxF -- "$1" "$work/err" || fail "expected: $1"; }
# A source written within the clock's grain before a run counts as written during it, and the object would not be stored.
settle() { sleep 0.1; }
compile() { settle; memo "$cc" -c x.c -o x.o -Isrc -Iinc -O1 "$@"; }

compile; said 'memo: miss x.o: nothing of it is stored'
cp x.o "$work/first.o"
compile; said 'memo: hit x.o'
rm x.o
compile; said 'memo: hit x.o'
cmp x.o "$work/first.o" || fail 'the restored object is another one'

echo '#define A 2' >src/a.h
compile; said 'memo: miss x.o: file src/a.h changed'
! cmp -s x.o "$work/first.o" || fail 'the object of the old header was kept'
echo '#define A 1' >src/a.h
compile; said 'memo: hit x.o'
cmp x.o "$work/first.o" || fail 'back is not the first object'

compile -DX; said 'memo: miss x.o: argument 9 added, file src/a.h changed'
# A header that comes to stand before another, though no listed file changed.
echo '#define B 3' >src/b.h
compile; said 'memo: miss x.o: argument 9 removed, file inc/b.h removed, file src/b.h added'
rm src/b.h
compile; said 'memo: hit x.o'

# Its warnings are part of the result.
printf '#warning old\nint y;\n' >y.c
settle
memo "$cc" -c y.c -o y.o
grep -q '#warning old' "$work/err" || fail 'no warning'
rm y.o
memo "$cc" -c y.c -o y.o; said 'memo: hit y.o'
grep -q '#warning old' "$work/err" || fail 'the warning was not replayed'

# A failure is a failure each time, and leaves no object of an earlier run.
cp x.c keep.c
echo 'int main(void) { return }' >x.c
for i in 1 2; do
  ! "$memo" "$cc" -c x.c -o x.o -Isrc -Iinc -O1 2>"$work/err" || fail 'a syntax error passed'
  grep -q 'memo: miss x.o' "$work/err" || fail 'no miss'
  [ ! -e x.o ] || fail 'an old object stayed'
done
mv keep.c x.c

# The time of day is never taken from the store; options that memo does not know run as they are.
printf 'const char *t = __TIME__;\n' >t.c
memo "$cc" -c t.c -o t.o
memo "$cc" -c x.c -o x.o -Isrc -Iinc -save-temps=obj
! grep -q memo: "$work/err" || fail 'memo took a command it cannot know'
[ -e x.i ] || fail 'the command did not run as it is'

printf '__asm__(".section .rodata\\n.incbin \\"inc/b.h\\"");\n' >i.c
memo "$cc" -c i.c -o i.o
! grep -q memo: "$work/err" || fail 'memo took a source whose assembler reads a file'
[ -e i.o ] || fail 'the command did not run as it is'

# A directory carried elsewhere without its database serves too; sources may lie in a git repository.
rm -f x.o "$work"/store/store-1.db*
git init -q . && git -c user.name=t -c user.email=t@t add x.c src inc && git -c user.name=t -c user.email=t@t commit -qm x
compile; said 'memo: hit x.o'
cmp x.o "$work/first.o" || fail 'the adopted object is another one'
