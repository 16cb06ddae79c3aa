# Prints the help text of the Makefile from its comments: `##@ section`, `target: … ## text`, `VARIABLE ?= default ## text`.
# Texts that begin with `dev: ` are printed if `dev` is set, and the others if it isn't.
# `columns` is the width to print for; what is longer goes on below itself.
/^##@ / { section = substr($0, 5) }

/^[A-Z_]+ \?= .*## / {
  value = $0; sub(/^[A-Z_]+ \?= */, "", value); sub(/ *## .*$/, "", value)
  add($1, after_mark($0), value == "" ? "" : " [" value "]")
}

/^[a-z0-9-]+:.*## / { name = $1; sub(/:.*$/, "", name); add(name, after_mark($0)) }

END {
  if (columns < 60) columns = 60
  if (columns > 120) columns = 120
  for (i = 1; i <= count; i++) {
    if (sections[i] != sections[i - 1]) printf("%s%s\n", (i > 1 ? "\n" : ""), sections[i])
    print_entry(names[i], texts[i])
  }
}

function add(name, text, note) {
  if (sub(/^dev: /, "", text) != (dev != "")) return
  names[++count] = name
  texts[count] = text note
  sections[count] = section
  if (length(name) > widest) widest = length(name)
}

function after_mark(line) { sub(/^.*## /, "", line); return line }

function print_entry(name, text,    words, total, i, line) {
  total = split(text, words, " ")
  line = sprintf("  %-" widest "s ", name)
  for (i = 1; i <= total; i++) {
    if (length(line) + 1 + length(words[i]) > columns) {
      print line
      line = sprintf("  %-" widest "s ", "")
    }
    line = line " " words[i]
  }
  print line
}
