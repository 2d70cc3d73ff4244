#!/bin/sh
# examples/c/order makes what is out of date, in order, several at once, and says why it does not.
set -eu
order=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf 'app: a.o b.o\n\tcat a.o b.o >app\na.o: a.c\n\tcp a.c a.o\nb.o: b.c a.o\n\tcp b.c b.o\nall: app other\nother:\n\techo other >other\n' >rules
echo a >a.c
echo b >b.c
[ "$("$order" -j 4 rules all | tail -n 1)" = 'cat a.o b.o >app' ]
[ "$(cat app)" = "$(printf 'a\nb')" ]
[ -z "$("$order" -j 4 rules all)" ]
touch -t 202001010000 ./*
touch b.c
[ "$("$order" rules)" = "$(printf 'cp b.c b.o\ncat a.o b.o >app')" ]
rm other
[ "$("$order" rules all | tail -n 1)" = 'echo other >other' ]
printf 'x: y\n\ttouch x\ny: z\n\tfalse\nz: w\n\tfalse\nw:\n\ttrue\n' >rules
code=0
"$order" -k rules 2>err >out || code=$?
[ "$code" = 1 ]
grep -q '^order: z failed$' err
grep -q '^order: x is not made, because z failed$' err
printf 'x: y\n\ttrue\ny: x\n\ttrue\n' >rules
code=0
"$order" rules 2>err || code=$?
[ "$code" = 2 ]
grep -q '"cycle"' err
