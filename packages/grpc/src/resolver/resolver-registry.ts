import type { ChannelOptions, experimental } from '@grpc/grpc-js';
import type { Diplomat } from '@spock/client';

import { PlanConfig, SPOCK_POLICY } from './balancing-plan.ts';
import type { AnyListener, GrpcModule } from './grpc-module.ts';
import { authorityOf, type TargetParts, TargetReader } from './parse-target.ts';
import { SpockLoadBalancer } from './spock-load-balancer.ts';
import { type ResolverPlace, SpockResolver } from './spock-resolver.ts';

/** What a scheme resolves by. */
export interface Registered {
	readonly diplomat: Diplomat;
	readonly reader: TargetReader;
}

type ResolverConstructor = Parameters<typeof experimental.registerResolver>[1];
type LoadBalancerConstructor = Parameters<typeof experimental.registerLoadBalancerType>[1];

/** One scheme of one copy of grpc-js: what it resolves by, and the resolvers that are at work. */
export class ResolverRegistry implements ResolverPlace {
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
export function registryOf(grpc: GrpcModule, scheme: string): ResolverRegistry {
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
