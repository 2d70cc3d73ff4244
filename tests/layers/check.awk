# Reads the layer table, then source files; prints every #include that the table does not allow.
# Status 1 when there is one. Run by test.sh with the files of one tree.

function trim(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }

function folder_of(file,    name, best) {
  for (name in allowed) if (index(file, name "/") == 1 && length(name) > length(best)) best = name
  return best
}

function refuse(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, trim($0); bad = 1 }

FILENAME == table {
  if ($0 ~ /^#/ || trim($0) == "") next
  colon = index($0, ":")
  allowed[substr($0, 1, colon - 1)] = " " trim(substr($0, colon + 1)) " "
  next
}

/^[ \t]*#[ \t]*include/ {
  folder = folder_of(FILENAME)
  if (folder == "") { refuse("this folder is not in the table"); next }
  rights = allowed[folder]
  if (match($0, /"[^"]*"/)) {
    target = substr($0, RSTART + 1, RLENGTH - 2)
    slash = index(target, "/")
    first = slash ? substr(target, 1, slash - 1) : ""
    if (folder ~ /^lib\//) own = substr(folder, 5); else own = ""
    if (target ~ /\.\.\//) refuse("paths do not climb")
    else if (first == "" || (folder == "bindings/cli" && first != "vx" && !(("lib/" first) in allowed))) {
      if (folder ~ /^lib\//) refuse("paths start at lib/")
    }
    else if (first == own) { }
    else if (first == "vx") { if (rights !~ / vx /) refuse("the C API is above this folder") }
    else if (("lib/" first) in allowed) {
      if (rights !~ / \* / && index(rights, " " first " ") == 0) refuse("this folder may not use " first)
    }
    else if (folder ~ /^lib\//) refuse("there is no module " first)
  } else if (match($0, /<[^>]*>/)) {
    target = substr($0, RSTART + 1, RLENGTH - 2)
    if (folder ~ /^lib\// && FILENAME ~ /\.hpp$/ && target ~ /^(sqlite3|rapidjson\/|boost\/|archive|yaml|re2\/|curl\/|seccomp)/)
      refuse("third-party headers belong in .cpp files")
    if (target ~ /^vx\// && rights !~ / vx /) refuse("the C API is above this folder")
    if (folder == "capi/include" && target !~ /^(stdint|stddef)\.h$/) refuse("a public header needs no more than <stdint.h> and <stddef.h>")
  }
}

END { exit bad }
