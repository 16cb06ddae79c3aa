"""gunicorn's configuration: each setting that isn't gunicorn's default, with its reason."""

from __future__ import annotations

from wirebench_services.settings import RestSettings, format_address, read_settings

_settings: RestSettings = read_settings(RestSettings)

# What the user chose.
bind = format_address(_settings.host, _settings.port)
workers = _settings.workers
worker_class = "gthread"
threads = _settings.threads
certfile = _settings.tls_cert and str(_settings.tls_cert)
keyfile = _settings.tls_key and str(_settings.tls_key)

# Load generators keep connections and may pause longer than the default of 2 s, as proxies do.
keepalive = max(1, round(_settings.idle_timeout_s))
# All variants have the same drain timeout, which the pod's grace period is derived from.
graceful_timeout = max(1, round(_settings.drain_timeout_s))
# At "info", gunicorn logs each normal start and stop of a worker.
loglevel = "warning"
# The default is one file for all services of a user, and nothing here uses it.
control_socket_disable = True
