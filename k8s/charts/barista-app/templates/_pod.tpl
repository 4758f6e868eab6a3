{{- /* The pod as it would be without a sidecar. */ -}}
{{- define "barista-app.podTemplate" -}}
metadata:
  labels:
    app.kubernetes.io/name: barista-app
spec:
  terminationGracePeriodSeconds: 35
  automountServiceAccountToken: false
  securityContext:
    runAsNonRoot: true
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: app
      image: {{ .Values.image }}
      securityContext:
        runAsUser: 10002
        runAsGroup: 10002
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities:
          drop: ["ALL"]
      resources:
        requests:
          cpu: 20m
          memory: 64Mi
        limits:
          memory: 192Mi
{{- end -}}
