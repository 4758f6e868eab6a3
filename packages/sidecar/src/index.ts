export { AdminServer, type AdminServerOptions } from './admin/admin-server.ts';
export { SidecarMetrics } from './admin/sidecar-metrics.ts';
export {
	type LifecycleAction,
	type LifecycleEvent,
	type LifecycleState,
	lifecycleMachine,
} from './lifecycle-machine.ts';
export type { SidecarLimits } from './options.ts';
export type { Listener } from './server/listener.ts';
export {
	createSidecar,
	type Sidecar,
	type SidecarBind,
	type SidecarListen,
	type SidecarOptions,
	type SidecarSource,
} from './sidecar.ts';
export type { CloseReason, SidecarObserver } from './sidecar-observer.ts';
export { SIDECAR_VERSION } from './version.ts';
