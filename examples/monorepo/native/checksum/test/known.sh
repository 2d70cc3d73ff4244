# Known answers.
set -eu
check() {
  got=$(printf '%s' "$1" | bin/checksum)
  [ "$got" = "$2" ] || { echo "checksum of '$1': expected $2, got $got"; exit 1; }
}
check '' 00000001
check 'a' 00620062
check 'Wikipedia' 11e60398
echo '3 ok'
