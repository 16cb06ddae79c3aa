# Other drivers: not part of `make setup`, because only scenarios that name them need them.

##@ Drivers to check wireload by
.PHONY: driver-oha driver-locust
driver-oha: .tools/bin/oha ## oha, for REST: cargo builds it, in minutes

driver-locust: .tools/locust/bin/locust ## locust, for REST

.tools/bin/oha: make/versions.mk | .tools/.prerequisites
	@scripts/check-cargo $(OHA_RUST_VERSION)
	@$(STEP) "oha: building $(OHA_VERSION) (minutes)" \
	  cargo install --quiet --locked --version $(OHA_VERSION) --root .tools oha
	@touch $@

.tools/locust/bin/locust: build/locks/locust.txt
	@$(STEP) "locust: making .tools/locust" $(PYTHON) -m venv --clear .tools/locust
	@$(STEP) "locust: installing packages" \
	  $(call install-packages,.tools/locust/bin/python,--require-hashes --requirement $<)
	@touch $@

##@ Examples of your own services
.PHONY: example-podinfo
example-podinfo: .tools/bin/podinfo ## podinfo, for `wirebench run podinfo`

.tools/bin/podinfo: make/versions.mk | .tools/.prerequisites
	$(call install-go,github.com/stefanprodan/podinfo/cmd/podinfo,$(PODINFO_VERSION))
