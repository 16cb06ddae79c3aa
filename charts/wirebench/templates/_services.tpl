{{/* The services: three times the same, so that what differs between them is the wire. */}}

{{/*
One service as JSON: `common`, overlaid with the service's own values, and what is not for values to say. Its ports are
those of the contract. Takes root and transport.
*/}}
{{- define "wirebench.service" -}}
{{- $ports := dict "rest" 5000 "grpc" 50051 "socket" 9000 -}}
{{- $port := get $ports .transport -}}
{{- $service := mergeOverwrite (deepCopy .root.Values.common) (deepCopy (get .root.Values .transport)) -}}
{{- $name := printf "%s-%s" (include "wirebench.fullname" .root) .transport -}}
{{- $fixed := dict "transport" .transport "name" $name "port" $port "adminPort" (add $port 1000) -}}
{{- $own := .root.Values.postgres.enabled | ternary (include "wirebench.postgresName" .root) "" -}}
{{- $_ := set $fixed "storeSecret" ($service.storeUrl.secretName | default $own) -}}
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
{{- $image := ternary .root.Values.image.servicesGo .root.Values.image.services $inGo -}}
name: {{ $service.transport }}
image: {{ include "wirebench.image" (dict "root" .root "image" $image) }}
imagePullPolicy: {{ $image.pullPolicy }}
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
resources:
  {{- include "wirebench.resources" $service.resources | trim | nindent 2 }}
securityContext:
  {{- include "shared.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - name: {{ $service.transport }}-tmp
    mountPath: /tmp
  {{- if $service.tls.enabled }}
  - name: {{ $service.transport }}-tls
    mountPath: /etc/wirebench/tls
    readOnly: true
  {{- end }}
  {{- include "wirebench.storeMount" $service | nindent 2 }}
{{- end }}

{{/*
Creates the tables before a service with the store postgres starts; pods that do it at the same time wait for one another.
Takes root and service.
*/}}
{{- define "wirebench.migration" -}}
{{- $service := .service -}}
name: {{ $service.transport }}-migration
image: {{ include "wirebench.image" (dict "root" .root "image" .root.Values.image.services) }}
imagePullPolicy: {{ .root.Values.image.services.pullPolicy }}
command: [wirebench-store, migrate, --wait-s, "120"]
env:
  - name: WIREBENCH_STORE_URL_FILE
    value: /etc/wirebench/store/url
  - name: WIREBENCH_SEED_USERS
    value: {{ int $service.seedUsers | quote }}
resources:
  {{- include "wirebench.resources" $service.resources | trim | nindent 2 }}
securityContext:
  {{- include "shared.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  {{- include "wirebench.storeMount" $service | nindent 2 }}
{{- end }}

{{/* Where a service finds the URL of its store, a file in a Secret. Takes a service. */}}
{{- define "wirebench.storeMount" -}}
{{- if eq .store "postgres" -}}
- name: {{ .transport }}-store
  mountPath: /etc/wirebench/store
  readOnly: true
{{- end }}
{{- end }}

{{/* The settings of services/python/wirebench_services/settings.py, and of the services in Go. Takes a service. */}}
{{- define "wirebench.environment" -}}
{{- $settings := dict
  "HOST" "0.0.0.0"
  "PORT" .port
  "ADMIN_PORT" .adminPort
  "RUNTIME" .runtime
  "WORKERS" .workers
  "STORE" .store
  "STORE_CONNECTIONS" .storeConnections
  "SEED_USERS" (int .seedUsers)
  "DRAIN_TIMEOUT_S" .drainTimeoutSeconds -}}
{{- if eq .implementation "go" -}}
{{- if ne (int .workers) 1 -}}
{{- fail (printf "%s.implementation is go, which needs %s.workers 1" .transport .transport) -}}
{{- end -}}
{{- $_ := set $settings "RUNTIME" (get (dict "rest" "net-http" "grpc" "grpc-go" "socket" "goroutines") .transport) -}}
{{- $_ := set $settings "THREADS" .goMaxProcs -}}
{{- else if ne .transport "socket" -}}
{{- $_ := set $settings "THREADS" .threads -}}
{{- end -}}
{{- if eq .transport "grpc" -}}
{{- $_ := set $settings "MAX_CONNECTION_AGE_S" .maxConnectionAgeSeconds -}}
{{- else -}}
{{- $_ := set $settings "IDLE_TIMEOUT_S" .idleTimeoutSeconds -}}
{{- end -}}
{{- if .tls.enabled -}}
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
{{- $isGrpc := and (eq .transport "grpc") (not .tls.enabled) -}}
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

{{/* The volumes of a service's container. Takes a service. */}}
{{- define "wirebench.volumes" -}}
- name: {{ .transport }}-tmp
  emptyDir: {}
{{- if .tls.enabled }}
- name: {{ .transport }}-tls
  secret:
    secretName: {{ required (printf "%s.tls.enabled needs the name of a Secret in %s.tls.secretName (or in common.tls.secretName)" .transport .transport) .tls.secretName }}
    defaultMode: 0440
{{- end }}
{{- if eq .store "postgres" }}
- name: {{ .transport }}-store
  secret:
    secretName: {{ required (printf "%s.store=postgres needs postgres.enabled, or the name of a Secret in %s.storeUrl.secretName (or in common.storeUrl.secretName)" .transport .transport) .storeSecret }}
    items: [{key: {{ .storeUrl.secretKey }}, path: url}]
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Seconds that a pod of a service may take to end; the last 10 are for processes to exit. Takes a service. */}}
{{- define "wirebench.gracePeriodSeconds" -}}
{{- addf .preStopSleepSeconds .drainTimeoutSeconds 10 | ceil | int -}}
{{- end }}
