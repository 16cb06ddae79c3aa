# Prints the help text of the Makefile from its comments: `##@ section`, `target: … ## text`, `VARIABLE ?= default ## text`.
/^##@ / { printf "%s%s\n", sections++ ? "\n" : "", substr($0, 5) }

/^[A-Z_]+ \?= .*## / {
  name = $1
  text = $0; sub(/^.*## /, "", text)
  value = $0; sub(/^[A-Z_]+ \?= */, "", value); sub(/ *## .*$/, "", value)
  printf "  %-15s %s%s\n", name, text, value == "" ? "" : " [" value "]"
}

/^[a-z0-9-]+:.*## / {
  name = $1; sub(/:.*$/, "", name)
  text = $0; sub(/^.*## /, "", text)
  printf "  %-15s %s\n", name, text
}
