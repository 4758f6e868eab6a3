import type { ChannelOptions, experimental } from '@grpc/grpc-js';
import * as installed from '@grpc/grpc-js';
import type { Diplomat } from '@spock/client';
import { diplomatOption, type NameRuleOptions } from '@spock/client/integrations';
import { knownMembers } from '@spock/protocol/internal';

import { type AnyListener, type GrpcModule, grpcOption } from './grpc-module.ts';
import { authorityOf, type TargetParts, TargetReader } from './parse-target.ts';
import { PlanConfig, SPOCK_POLICY, SpockLoadBalancer } from './spock-load-balancer.ts';
import { type ResolverPlace, SpockResolver } from './spock-resolver.ts';

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

/** What a scheme resolves by. */
interface Registered {
	readonly diplomat: Diplomat;
	readonly reader: TargetReader;
}

type ResolverConstructor = Parameters<typeof experimental.registerResolver>[1];
type LoadBalancerConstructor = Parameters<typeof experimental.registerLoadBalancerType>[1];

/** One scheme of one copy of grpc-js: what it resolves by, and the resolvers that are at work. */
class ResolverRegistry implements ResolverPlace {
	readonly grpc: GrpcModule;
	readonly scheme: string;
	readonly #resolvers = new Set<SpockResolver>();
	#registered: Registered | undefined;

	constructor(grpc: GrpcModule, scheme: string) {
		this.grpc = grpc;
		this.scheme = scheme;
		grpc.experimental.registerResolver(scheme, this.#resolverClass());
	}

	get registered(): Registered | undefined {
		return this.#registered;
	}

	get diplomat(): Diplomat | undefined {
		return this.#registered?.diplomat;
	}

	/** Resolves by this from now on, also for channels that exist; undefined: by nothing. */
	set(registered: Registered | undefined): void {
		this.#registered = registered;
		for (const resolver of this.#resolvers) resolver.restart();
	}

	add(resolver: SpockResolver): void {
		this.#resolvers.add(resolver);
	}

	delete(resolver: SpockResolver): void {
		this.#resolvers.delete(resolver);
	}

	/** The class that grpc-js makes a resolver of for each channel. It cannot be taken back, so it asks this registry. */
	#resolverClass(): ResolverConstructor {
		const registry = this;
		return class {
			static getDefaultAuthority(target: TargetParts): string {
				// A channel asks for it before it makes its resolver: what is wrong with the target throws where the channel is made.
				registry.#query(target);
				return authorityOf(target);
			}

			constructor(target: TargetParts, listener: AnyListener, options: ChannelOptions) {
				// biome-ignore lint/correctness/noConstructorReturn: grpc-js calls it with new, and needs no instance of this class.
				return new SpockResolver(registry, registry.#query(target), listener, options) as never;
			}
		} as unknown as ResolverConstructor;
	}

	#query(target: TargetParts): ReturnType<TargetReader['query']> {
		return (this.#registered?.reader ?? PLAIN_READER).query(target);
	}
}

/** For channels that are made after the registration was undone: they are made, and their calls say what is wrong. */
const PLAIN_READER: TargetReader = new TargetReader();

/** By the function that registers, because a module has several namespace objects (`import *` and its default export). */
const registries = new WeakMap<object, Map<string, ResolverRegistry>>();

/** The registry of a scheme in a copy of grpc-js; made, with the policy that its channels use, when first asked for. */
function registryOf(grpc: GrpcModule, scheme: string): ResolverRegistry {
	const { registerResolver, registerLoadBalancerType } = grpc.experimental;
	let schemes = registries.get(registerResolver);
	if (schemes === undefined) {
		schemes = new Map();
		registries.set(registerResolver, schemes);
		registerLoadBalancerType(SPOCK_POLICY, SpockLoadBalancer as LoadBalancerConstructor, PlanConfig as never);
	}
	let registry = schemes.get(scheme);
	if (registry === undefined) {
		registry = new ResolverRegistry(grpc, scheme);
		schemes.set(scheme, registry);
	}
	return registry;
}
