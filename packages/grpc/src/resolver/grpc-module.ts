import type * as grpcJs from '@grpc/grpc-js';
import type { experimental, StatusObject } from '@grpc/grpc-js';

/** A copy of grpc-js: `import * as grpc from '@grpc/grpc-js'`. */
export type GrpcModule = typeof grpcJs;

/** Throws for what has not the functions that this package calls: the namespace of a package that is not grpc-js, say. */
export function grpcOption(grpc: GrpcModule): GrpcModule {
	const { registerResolver, registerLoadBalancerType } = grpc?.experimental ?? {};
	if (typeof registerResolver === 'function' && typeof registerLoadBalancerType === 'function') return grpc;
	throw new TypeError("grpc must be the module @grpc/grpc-js, from 1.13: import * as grpc from '@grpc/grpc-js'");
}

/** What the resolver of a channel reports: where to connect, and by which rules. */
export interface Resolution {
	readonly endpoints: experimental.Endpoint[];
	readonly serviceConfig: ServiceConfig;
}

/** What grpc-js calls a service config; it does not export the type. */
export type ServiceConfig = Extract<
	NonNullable<Parameters<experimental.ResolverListener>[2]>,
	{ readonly ok: true }
>['value'];

/** Up to grpc-js 1.13, a listener was an object with a function for each kind of result. */
export interface ListenerObject {
	onSuccessfulResolution(
		endpoints: experimental.Endpoint[],
		serviceConfig: ServiceConfig,
		serviceConfigError: StatusObject | null,
		configSelector: experimental.ConfigSelector | null,
		attributes: Record<string, unknown>,
	): void;
}

/** The listener of a channel, in every version. */
export type AnyListener = experimental.ResolverListener | ListenerObject;

/** Notifies the listener of a channel, in either of its two shapes. */
export function tellListener(grpc: GrpcModule, listener: AnyListener, resolution: Resolution): void {
	const { endpoints, serviceConfig } = resolution;
	if (typeof listener === 'function') {
		const { statusOrFromValue } = grpc.experimental;
		listener(statusOrFromValue(endpoints), {}, statusOrFromValue(serviceConfig), '');
	} else {
		listener.onSuccessfulResolution(endpoints, serviceConfig, null, null, {});
	}
}
