##@ This project
.PHONY: help help-dev
HELP = awk -v columns="$${COLUMNS:-$$(tput cols 2>/dev/null || echo 100)}" -f scripts/help.awk
help: ## this text
	@$(HELP) $(MAKEFILE_LIST)

help-dev: ## the targets and variables for those who change wirebench
	@$(HELP) -v dev=yes $(MAKEFILE_LIST)
