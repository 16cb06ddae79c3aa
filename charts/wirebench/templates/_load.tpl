{{/* What a load generator's pod is made of. */}}

{{/* Near the pods of the service, or away from them. Takes root and load. */}}
{{- define "wirebench.loadAffinity" -}}
{{- $kinds := dict "same-node" "podAffinity" "cross-node" "podAntiAffinity" -}}
{{- with get $kinds .load.placement -}}
affinity:
  {{ . }}:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        {{- with $.load.targetPods.namespace }}
        namespaces: [{{ . }}]
        {{- end }}
        labelSelector:
          matchLabels:
            {{- with $.load.targetPods.labels }}
            {{- toYaml . | nindent 12 }}
            {{- else }}
            {{- include "wirebench.selectorLabels" (dict "root" $.root "component" $.load.transport "instance" $.load.target) | nindent 12 }}
            {{- end }}
{{- end }}
{{- end }}

{{/* Takes root and load. */}}
{{- define "wirebench.loadContainer" -}}
name: load
image: {{ include "wirebench.image" (dict "root" .root "image" .root.Values.image.load) }}
imagePullPolicy: {{ .root.Values.image.load.pullPolicy }}
command: [wirebench-load]
env:
  # Labels of live metrics, and what the node's agent knows the pod by. JOB_COMPLETION_INDEX is the generator's number.
  {{- $paths := dict "NAMESPACE" "metadata.namespace" "POD" "metadata.name" "NODE" "spec.nodeName" "POD_UID" "metadata.uid" }}
  {{- range $name, $path := $paths }}
  - name: WIREBENCH_{{ $name }}
    valueFrom:
      fieldRef:
        fieldPath: {{ $path }}
  {{- end }}
{{- with .load.environment.secretName }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
resources:
  {{- include "wirebench.resources" .load.resources | trim | nindent 2 }}
securityContext:
  {{- include "shared.containerSecurityContext" . | nindent 2 }}
volumeMounts:
  - name: plan
    mountPath: /etc/wirebench
    readOnly: true
  - name: out
    mountPath: /out
  - name: load-tmp
    mountPath: /tmp
  {{- if .load.tls.secretName }}
  - name: load-tls
    mountPath: /etc/wirebench-tls
    readOnly: true
  {{- end }}
{{- end }}
