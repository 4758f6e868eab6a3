export { AdminServer, type AdminServerOptions } from './admin/admin-server.ts';
export { SidecarMetrics } from './admin/metrics/sidecar-metrics.ts';
export { EventGuest, type EventGuestOptions } from './events/event-guest.ts';
export type { ResolvedLimits, SidecarLimits } from './foundation/limits.ts';
export type {
	CloseReason,
	LimitName,
	OverloadSignal,
	SidecarObserver,
	TlsFailure,
	TracedRequest,
} from './foundation/observer.ts';
export type { SidecarSource } from './foundation/sidecar-source.ts';
export { SIDECAR_VERSION } from './foundation/version.ts';
export {
	type LifecycleAction,
	type LifecycleEvent,
	type LifecycleState,
	lifecycleMachine,
} from './lifecycle/lifecycle-machine.ts';
export type { Events, EventsContext, EventsOptions, SidecarOptions } from './lifecycle/sidecar-options.ts';
export type { Listener, SidecarListen } from './listen/listener.ts';
export type { TlsListen, TlsListenSecrets } from './listen/tls-server.ts';
export { AcceptedTokens, type TokenCheck, type TokenHolder } from './listen/tokens.ts';
export { createSidecar, type Sidecar } from './sidecar.ts';
export { UpstreamBackend, type UpstreamBackendOptions } from './upstream/upstream-backend.ts';
