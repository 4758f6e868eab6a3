import type { experimental, StatusObject } from '@grpc/grpc-js';

import type { GrpcModule } from './grpc-module.ts';

/** What the resolver of a channel tells: where to connect, and by which rules. */
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

/** How a channel wants to be told, in every version. */
export type AnyListener = experimental.ResolverListener | ListenerObject;

/** Tells the listener of a channel, whichever of the two shapes it has. */
export function tellListener(grpc: GrpcModule, listener: AnyListener, resolution: Resolution): void {
	const { endpoints, serviceConfig } = resolution;
	if (typeof listener === 'function') {
		const { statusOrFromValue } = grpc.experimental;
		listener(statusOrFromValue(endpoints), {}, statusOrFromValue(serviceConfig), '');
	} else {
		listener.onSuccessfulResolution(endpoints, serviceConfig, null, null, {});
	}
}
