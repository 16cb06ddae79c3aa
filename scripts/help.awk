# Prints the help text of the Makefile from its comments: `##@ section`, `target: … ## text`, `VARIABLE ?= default ## text`.
# Texts that begin with `dev: ` are printed if `dev` is set, and the others if it isn't.
# `columns` is the width to print for; longer texts continue on the next line.
BEGIN { columns = columns < 60 ? 60 : columns > 120 ? 120 : columns }

/^##@ / { section = substr($0, 5) }

/^([A-Z_]+ \?=|[a-z0-9-]+:).* ## / {
  name = $1; sub(/:.*/, "", name)
  text = $0; sub(/^.* ## /, "", text)
  if (sub(/^dev: /, "", text) != (dev != "")) next
  if ($2 == "?=" && $3 != "##") text = text " [" $3 "]"
  if (section != shown) print (shown == "" ? "" : "\n") section
  shown = section

  count = split(text, words, " ")
  line = sprintf("  %-17s", name)
  for (i = 1; i <= count; i++) {
    if (length(line " " words[i]) > columns) { print line; line = sprintf("%19s", "") }
    line = line " " words[i]
  }
  print line
}
