{{- /* Made by `npm run manifests -- --write` of k8s/components: change those. */ -}}
{{- define "spock-node.components" -}}
sidecar:
  labels:
    app.kubernetes.io/name: spock-node
    spock-sidecar: present
  container:
    args:
      - start
    env:
      - name: SPOCK_LISTEN
        value: tls://[::]:7777
      - name: SPOCK_LISTEN_ANY
        value: "true"
      - name: SPOCK_TLS_CERT
        value: /etc/spock/tls/tls.crt
      - name: SPOCK_TLS_KEY
        value: /etc/spock/tls/tls.key
      - name: SPOCK_TOKEN_FILE
        value: /etc/spock/tokens/tokens
      - name: SPOCK_SOCKET
        value: /uds/sidecar.sock
      - name: SPOCK_REGISTRATIONS_NAMED_ONLY
        value: "true"
      - name: SPOCK_OWNER
        valueFrom:
          fieldRef:
            fieldPath: spec.nodeName
      - name: SPOCK_DRAIN_TIMEOUT_MS
        value: "5000"
      - name: SPOCK_ADMIN
        value: "[::]:9464"
      - name: SPOCK_ADMIN_ANY
        value: "true"
      - name: SPOCK_ZONE
        valueFrom:
          fieldRef:
            fieldPath: metadata.labels['topology.kubernetes.io/zone']
      - name: SPOCK_OUTPUT_TOTAL_BYTES_MAX
        value: "67108864"
    image: spock-sidecar:0.1.0
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /livez
        port: admin
      periodSeconds: 10
      timeoutSeconds: 5
    name: sidecar
    ports:
      - containerPort: 7777
        name: spock
      - containerPort: 9464
        name: admin
    readinessProbe:
      failureThreshold: 2
      httpGet:
        path: /readyz
        port: admin
      periodSeconds: 5
      timeoutSeconds: 5
    resources:
      limits:
        memory: 512Mi
      requests:
        cpu: 100m
        memory: 128Mi
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
          - ALL
      readOnlyRootFilesystem: true
      runAsGroup: 10001
      runAsNonRoot: true
      runAsUser: 10001
      seccompProfile:
        type: RuntimeDefault
    startupProbe:
      exec:
        command:
          - sidecar
          - health
      failureThreshold: 300
      periodSeconds: 1
      timeoutSeconds: 5
    volumeMounts:
      - mountPath: /etc/spock/tls
        name: spock-tls
        readOnly: true
      - mountPath: /etc/spock/tokens
        name: spock-tokens
        readOnly: true
      - mountPath: /uds
        name: uds
  volumes:
    - name: spock-tls
      secret:
        defaultMode: 288
        secretName: spock-node-tls
    - name: spock-tokens
      secret:
        defaultMode: 288
        secretName: spock-node-tokens
    - emptyDir:
        medium: Memory
        sizeLimit: 16Mi
      name: uds
consul-agent-on-node:
  env:
    - name: HOST_IP
      valueFrom:
        fieldRef:
          fieldPath: status.hostIP
    - name: CONSUL_HTTP_ADDR
      value: http://$(HOST_IP):8500
consul-servers-tls-acl:
  env:
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: CONSUL_HTTP_ADDR
      value: https://consul-server-0.consul-server.consul.svc:8501,https://consul-server-1.consul-server.consul.svc:8501,https://consul-server-2.consul-server.consul.svc:8501
    - name: CONSUL_CACERT
      value: /etc/consul/ca/tls.crt
    - name: CONSUL_TLS_SERVER_NAME
      value: server.dc1.consul
    - name: SPOCK_CONSUL_LOGIN_METHOD
      value: spock
    - name: SPOCK_CONSUL_LOGIN_TOKEN_FILE
      value: /var/run/secrets/consul-login/token
    - name: SPOCK_CONSUL_LOGIN_META
      value: pod=$(POD_NAMESPACE)/$(POD_NAME)
  volumeMounts:
    - mountPath: /etc/consul/ca
      name: consul-ca
      readOnly: true
    - mountPath: /var/run/secrets/consul-login
      name: consul-login
      readOnly: true
  volumes:
    - configMap:
        name: consul-ca-cert
      name: consul-ca
    - name: consul-login
      projected:
        sources:
          - serviceAccountToken:
              expirationSeconds: 3600
              path: token
consul-token:
  env:
    - name: CONSUL_HTTP_TOKEN_FILE
      value: /var/run/secrets/consul-token/token
  volumeMounts:
    - mountPath: /var/run/secrets/consul-token
      name: consul-token
      readOnly: true
  volumes:
    - name: consul-token
      secret:
        defaultMode: 288
        secretName: spock-consul-token
state-directory:
  env:
    - name: SPOCK_STATE_DIR
      value: /var/lib/spock/state
  volumeMounts:
    - mountPath: /var/lib/spock
      name: spock-state
  volumes:
    - emptyDir:
        sizeLimit: 64Mi
      name: spock-state
prometheus-annotations:
  annotations:
    prometheus.io/path: /metrics
    prometheus.io/port: "9464"
    prometheus.io/scrape: "true"
{{- end -}}
{{- /* Made by `npm run manifests -- --write` of k8s/components: change those. */ -}}
{{- define "spock-node.objects" -}}
ServiceAccount:
  apiVersion: v1
  automountServiceAccountToken: false
  kind: ServiceAccount
  metadata:
    name: spock-node
Service:
  apiVersion: v1
  kind: Service
  metadata:
    labels:
      app.kubernetes.io/name: spock-node
    name: spock-node
  spec:
    internalTrafficPolicy: Local
    ports:
      - name: spock
        port: 7777
        protocol: TCP
        targetPort: spock
    selector:
      app.kubernetes.io/name: spock-node
DaemonSet:
  apiVersion: apps/v1
  kind: DaemonSet
  metadata:
    labels:
      app.kubernetes.io/name: spock-node
    name: spock-node
  spec:
    selector:
      matchLabels:
        app.kubernetes.io/name: spock-node
    template:
      metadata:
        labels:
          app.kubernetes.io/name: spock-node
          spock-sidecar: present
      spec:
        automountServiceAccountToken: false
        containers: []
        securityContext:
          fsGroup: 2000
          runAsNonRoot: true
          seccompProfile:
            type: RuntimeDefault
        serviceAccountName: spock-node
        tolerations:
          - effect: NoSchedule
            operator: Exists
        volumes: []
    updateStrategy:
      rollingUpdate:
        maxSurge: 1
        maxUnavailable: 0
      type: RollingUpdate
PodMonitor:
  apiVersion: monitoring.coreos.com/v1
  kind: PodMonitor
  metadata:
    name: spock-node
  spec:
    podMetricsEndpoints:
      - interval: 15s
        path: /metrics
        port: admin
        scrapeTimeout: 10s
    selector:
      matchLabels:
        app.kubernetes.io/name: spock-node
NetworkPolicy:
  apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata:
    name: spock-node
  spec:
    egress:
      - ports:
          - port: 8500
            protocol: TCP
          - port: 8501
            protocol: TCP
      - ports:
          - port: 53
            protocol: UDP
          - port: 53
            protocol: TCP
    ingress:
      - ports:
          - port: 7777
            protocol: TCP
      - from:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: monitoring
        ports:
          - port: 9464
            protocol: TCP
    podSelector:
      matchLabels:
        app.kubernetes.io/name: spock-node
    policyTypes:
      - Egress
      - Ingress
{{- end -}}
