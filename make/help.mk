##@ Help
.PHONY: help
help: ## this text
	@awk -v columns="$${COLUMNS:-$$(tput cols 2>/dev/null || echo 100)}" -f scripts/help.awk $(MAKEFILE_LIST)
