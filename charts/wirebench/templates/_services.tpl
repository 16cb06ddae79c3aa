{{/* The services: three times the same, so that what differs between them is the wire. */}}

{{/*
One service as JSON: `common`, overlaid with the service's own values, and what is not for values to say. Its ports are
those of the contract. Takes root and transport.
*/}}
{{- define "wirebench.service" -}}
{{- $port := get (dict "rest" 5000 "grpc" 50051 "socket" 9000) .transport -}}
{{- $service := mergeOverwrite (deepCopy .root.Values.common) (deepCopy (get .root.Values .transport)) -}}
{{- $name := printf "%s-%s" (include "shared.fullname" .root) .transport -}}
{{- $fixed := dict "transport" .transport "name" $name "port" $port "adminPort" (add $port 1000) -}}
{{- mergeOverwrite $service $fixed | toJson -}}
{{- end }}

{{/* The enabled services as a JSON array. Takes the root. */}}
{{- define "wirebench.services" -}}
{{- $services := list -}}
{{- range $transport := list "rest" "grpc" "socket" -}}
{{- if (get $.Values $transport).enabled -}}
{{- $services = include "wirebench.service" (dict "root" $ "transport" $transport) | fromJson | append $services -}}
{{- end -}}
{{- end -}}
{{- $services | toJson -}}
{{- end }}

{{/*
The container of a service, in a Deployment and beside a load generator alike: what is measured is the same. Takes root
and service.
*/}}
{{- define "wirebench.container" -}}
{{- $service := .service -}}
{{- $inGo := eq $service.implementation "go" -}}
{{- $image := ternary "servicesGo" "services" $inGo -}}
name: {{ $service.transport }}
{{ include "shared.container" (dict "root" .root "image" $image "resources" $service.resources) }}
command: [{{ ternary (printf "wirebench-go, %s" $service.transport) (printf "wirebench-%s" $service.transport) $inGo }}]
env:
  {{- include "wirebench.environment" $service | trim | nindent 2 }}
ports:
  - name: {{ $service.transport }}
    containerPort: {{ $service.port }}
  - name: admin
    containerPort: {{ $service.adminPort }}
{{ include "wirebench.probes" $service }}
{{- if $service.preStopSleepSeconds }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ $service.preStopSleepSeconds }}
{{- end }}
volumeMounts:
  {{- include "wirebench.mounts" $service | nindent 2 }}
{{- end }}

{{/*
Creates the tables before a service with the store postgres starts; pods that do it at the same time wait for one another.
Takes root and service.
*/}}
{{- define "wirebench.migration" -}}
name: {{ .service.transport }}-migration
{{ include "shared.container" (dict "root" .root "image" "services" "resources" .service.resources) }}
command: [wirebench-store, migrate, --wait-s, "120"]
env:
  - name: WIREBENCH_STORE_URL_FILE
    value: /etc/wirebench/store/url
  - name: WIREBENCH_SEED_USERS
    value: {{ int .service.seedUsers | quote }}
volumeMounts:
  {{- include "wirebench.mounts" .service | nindent 2 }}
{{- end }}

{{/*
The settings of services/python/wirebench_services/settings.py, and of the services in Go. That they listen on all
addresses, of IPv6 too where there is any, is in their images. Takes a service.
*/}}
{{- define "wirebench.environment" -}}
{{- $settings := dict
  "PORT" .port
  "ADMIN_PORT" .adminPort
  "RUNTIME" .runtime
  "WORKERS" .workers
  "STORE" .store
  "SEED_USERS" (int .seedUsers)
  "DRAIN_TIMEOUT_S" .drainTimeoutSeconds -}}
{{- if eq .implementation "go" -}}
{{- if ne (int .workers) 1 -}}
{{- fail (printf "%s.implementation is go, which needs %s.workers 1" .transport .transport) -}}
{{- end -}}
{{- $_ := set $settings "RUNTIME" (get (dict "rest" "net-http" "grpc" "grpc-go" "socket" "goroutines") .transport) -}}
{{- end -}}
{{- if .threads -}}
{{- $_ := set $settings "THREADS" .threads -}}
{{- end -}}
{{- if eq .transport "grpc" -}}
{{- $_ := set $settings "MAX_CONNECTION_AGE_S" .maxConnectionAgeSeconds -}}
{{- end -}}
{{- if .tlsSecret -}}
{{- $_ := set $settings "TLS_CERT" "/etc/wirebench/tls/tls.crt" -}}
{{- $_ := set $settings "TLS_KEY" "/etc/wirebench/tls/tls.key" -}}
{{- end -}}
{{- if eq .store "postgres" -}}
{{- $_ := set $settings "STORE_URL_FILE" "/etc/wirebench/store/url" -}}
{{- end -}}
{{- range $name, $value := $settings }}
- name: WIREBENCH_{{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/*
Startup is probed by the admin port's /readyz: it answers 200 when all workers are up, the service's own port answers and
the store can be reached. Then gRPC is probed by its own health service, except with TLS, which the kubelet's probe
doesn't speak, and except the readiness of a service on PostgreSQL, which depends on the database.

Under a load that saturates it, a service answers late, and is to be measured, not restarted or taken out: time-outs and
thresholds are generous, and only a service that answers nothing at all runs into them. Takes a service.
*/}}
{{- define "wirebench.probes" -}}
{{- $isGrpc := and (eq .transport "grpc") (not .tlsSecret) -}}
startupProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 180
readinessProbe:
  {{- if and $isGrpc (ne .store "postgres") }}
  grpc: {port: {{ .port }}}
  {{- else }}
  httpGet: {path: /readyz, port: admin}
  {{- end }}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 5
livenessProbe:
  {{- if $isGrpc }}
  grpc: {port: {{ .port }}}
  {{- else }}
  httpGet: {path: /livez, port: admin}
  {{- end }}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- end }}

{{/* Where a service's container finds its volumes. Takes a service. */}}
{{- define "wirebench.mounts" -}}
- name: {{ .transport }}-tmp
  mountPath: /tmp
{{- if .tlsSecret }}
- name: {{ .transport }}-tls
  mountPath: /etc/wirebench/tls
  readOnly: true
{{- end }}
{{- if eq .store "postgres" }}
- name: {{ .transport }}-store
  mountPath: /etc/wirebench/store
  readOnly: true
{{- end }}
{{- end }}

{{/* The volumes of a service's container. Takes a service. */}}
{{- define "wirebench.volumes" -}}
- name: {{ .transport }}-tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if .tlsSecret }}
- name: {{ .transport }}-tls
  secret:
    secretName: {{ .tlsSecret | quote }}
    defaultMode: 0440
{{- end }}
{{- if eq .store "postgres" }}
- name: {{ .transport }}-store
  secret:
    secretName: {{ required (printf "%s.store is postgres: name the Secret that holds the database's URL in %s.storeSecret or common.storeSecret" .transport .transport) .storeSecret | quote }}
    items: [{key: url, path: url}]
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Seconds that a pod of a service may take to end; the last 10 are for processes to exit. Takes a service. */}}
{{- define "wirebench.gracePeriodSeconds" -}}
{{- addf .preStopSleepSeconds .drainTimeoutSeconds 10 | ceil | int -}}
{{- end }}
