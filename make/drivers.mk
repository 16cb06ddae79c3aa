# Other drivers and examples: only scenarios that name them need them.

##@ This project
.PHONY: driver-oha driver-locust
driver-oha: .tools/bin/oha ## dev: oha, for REST: cargo builds it, in minutes

driver-locust: .tools/locust/bin/locust ## dev: locust, for REST

.tools/bin/oha: make/versions.mk | .tools/.prerequisites
	@command -v cargo >/dev/null || \
	  { echo 'driver-oha: cargo was not found: it builds oha; next: install Rust (rustup.rs; Debian: rustup)' >&2; exit 1; }
	@$(STEP) "oha: building $(OHA_VERSION) (minutes)" \
	  cargo install --quiet --locked --version $(OHA_VERSION) --root .tools oha
	@touch $@

.tools/locust/bin/locust: build/locks/locust.txt
	@$(STEP) "locust: making .tools/locust" $(PYTHON) -m venv --clear .tools/locust
	@$(STEP) "locust: installing packages" \
	  $(call install-packages,.tools/locust/bin/python,--require-hashes --requirement $<)
	@touch $@

.PHONY: example-podinfo
example-podinfo: .tools/bin/podinfo ## dev: podinfo, for `wirebench run podinfo`

.tools/bin/podinfo: make/versions.mk | .tools/.prerequisites
	$(call build-module,github.com/stefanprodan/podinfo,$(PODINFO_VERSION),./cmd/podinfo)
