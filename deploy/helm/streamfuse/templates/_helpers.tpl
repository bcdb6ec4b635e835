{{- define "streamfuse.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "streamfuse.selector" -}}
app.kubernetes.io/name: streamfuse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "streamfuse.labels" -}}
{{ include "streamfuse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{/* Where the shared state is; empty: each pod counts for itself. */}}
{{- define "streamfuse.stateUrl" -}}
{{- if .Values.state.url -}}
{{ .Values.state.url }}
{{- else if .Values.redis.enabled -}}
redis://{{ include "streamfuse.name" . }}-valkey:6379/0
{{- end -}}
{{- end -}}

{{/* The config as the pods read it: what the chart decides, below what the user wrote. */}}
{{- define "streamfuse.config" -}}
{{- $ours := dict
  "listen" (dict "host" "0.0.0.0" "port" 8787)
  "ops" (dict "host" "0.0.0.0" "port" 8788)
  "drain" (dict "grace" (printf "%ds" (int .Values.drainSeconds)))
  "journal" (dict "format" "json") -}}
{{- with include "streamfuse.stateUrl" . -}}
{{- $_ := set $ours "state" (dict "kind" "redis" "url" .) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $ours (deepCopy .Values.config)) -}}
{{- end -}}
