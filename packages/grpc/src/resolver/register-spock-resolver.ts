import * as installed from '@grpc/grpc-js';
import type { Diplomat } from '@spock/client';
import { diplomatOption, type NameRuleOptions } from '@spock/client/integrations';
import { knownMembers } from '@spock/protocol/internal';

import { type GrpcModule, grpcOption } from './grpc-module.ts';
import { TargetReader } from './parse-target.ts';
import { type Registered, registryOf } from './resolver-registry.ts';

/** The scheme of targets unless another one is asked for. */
export const DEFAULT_SCHEME = 'spock';

/** Schemes that grpc-js resolves by itself. */
const TAKEN_SCHEMES: readonly string[] = ['dns', 'ipv4', 'ipv6', 'unix', 'xds'];

const OPTIONS: readonly string[] = ['diplomat', 'scheme', 'grpc', 'suffix', 'query', 'services'];

/** Options of {@link registerSpockResolver}. */
export interface SpockResolverOptions extends NameRuleOptions {
	/** Finds the instances; each call is reported to it. The caller owns and closes it. */
	readonly diplomat: Diplomat;
	/** What targets begin with, in lower case. Default `spock`. */
	readonly scheme?: string;
	/**
	 * The copy of grpc-js to register with: the one that the app's clients are made with. Default: the one that this package
	 * finds. `npm ls @grpc/grpc-js` shows whether an app has several.
	 */
	readonly grpc?: GrpcModule;
}

/** What one call of {@link registerSpockResolver} did. */
export interface SpockResolverRegistration extends Disposable {
	readonly scheme: string;
	/** Asks another Diplomat from now on, for the channels that exist too: their addresses stay until it has answered. */
	repoint(diplomat: Diplomat): void;
	/**
	 * Undoes it: calls on channels to this scheme end with UNAVAILABLE. Idempotent, and without effect after the scheme was
	 * registered again by another caller.
	 */
	unregister(): void;
}

/**
 * Makes channels to `spock:///employee` find the instances of a service. grpc-js keeps resolvers by scheme for the whole
 * process, so this is a change to the process, and registering a scheme again takes it over. Throws a TypeError or RangeError
 * for wrong options.
 */
export function registerSpockResolver(options: SpockResolverOptions): SpockResolverRegistration {
	knownMembers('option', options, OPTIONS);
	const { scheme = DEFAULT_SCHEME, grpc = installed } = options;
	if (typeof scheme !== 'string' || !/^[a-z][a-z0-9+.-]*$/.test(scheme) || TAKEN_SCHEMES.includes(scheme)) {
		throw new RangeError(
			`scheme must be a lower-case URI scheme that grpc-js does not resolve itself, not ${JSON.stringify(scheme)}`,
		);
	}
	const diplomat = diplomatOption(options.diplomat);
	const reader = new TargetReader(options);
	const registry = registryOf(grpcOption(grpc), scheme);
	let registered: Registered | undefined;
	const set = (next: Diplomat): void => {
		registered = { diplomat: diplomatOption(next), reader };
		registry.set(registered);
	};
	const unregister = (): void => {
		if (registered !== undefined && registry.registered === registered) registry.set(undefined);
	};
	set(diplomat);
	return { scheme, repoint: set, unregister, [Symbol.dispose]: unregister };
}
