export { AdminServer, type AdminServerOptions } from './admin/admin-server.ts';
export { SidecarMetrics } from './admin/sidecar-metrics.ts';
export {
	type LifecycleAction,
	type LifecycleEvent,
	type LifecycleState,
	lifecycleMachine,
} from './lifecycle-machine.ts';
export type { ResolvedLimits, SidecarLimits } from './options.ts';
export { AcceptedTokens, type TokenCheck } from './server/accepted-tokens.ts';
export type { Listener } from './server/listener.ts';
export type { TlsFailure, TlsListen, TlsListenSecrets } from './server/tls-server.ts';
export { createSidecar, type Sidecar } from './sidecar.ts';
export type { CloseReason, LimitName, OverloadSignal, SidecarObserver, TracedRequest } from './sidecar-observer.ts';
export type { SidecarListen, SidecarOptions, SidecarSource } from './sidecar-options.ts';
export { SIDECAR_VERSION } from './version.ts';
