export { AdminServer, type AdminServerOptions } from './admin/admin-server.ts';
export { SidecarMetrics } from './admin/metrics/sidecar-metrics.ts';
export type { ResolvedLimits, SidecarLimits } from './foundation/limits.ts';
export type { CloseReason, LimitName, OverloadSignal, SidecarObserver, TracedRequest } from './foundation/observer.ts';
export { SIDECAR_VERSION } from './foundation/version.ts';
export {
	type LifecycleAction,
	type LifecycleEvent,
	type LifecycleState,
	lifecycleMachine,
} from './lifecycle/lifecycle-machine.ts';
export type { SidecarListen, SidecarOptions, SidecarSource } from './lifecycle/sidecar-options.ts';
export { AcceptedTokens, type TokenCheck } from './listen/accepted-tokens.ts';
export type { Listener } from './listen/listener.ts';
export type { TlsFailure, TlsListen, TlsListenSecrets } from './listen/tls-server.ts';
export { createSidecar, type Sidecar } from './sidecar.ts';
