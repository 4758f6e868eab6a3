import type { ConnectionOptions } from 'node:tls';
import { CONNECTION_TARGET_OPTIONS, ConnectionTarget, type ConnectionTargetOptions } from '@spock/client/integrations';
import { knownMembers, oneOfOption } from '@spock/protocol/internal';

/** What a Redis server calls its roles. */
const ROLES = ['master', 'slave'] as const;

/** Options of `spockRedis`. */
export interface SpockRedisOptions extends ConnectionTargetOptions {
	/**
	 * The role that a server must have by its own word (`INFO`), whatever the registry says: another one is left, and tried
	 * again by ioredis' `retryStrategy`. Needs ioredis' `enableReadyCheck` (its default). Default: any.
	 */
	readonly role?: (typeof ROLES)[number];
}

/** The options, checked. */
export interface RedisTarget {
	readonly target: ConnectionTarget;
	readonly role: SpockRedisOptions['role'];
}

/** Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST. */
export function resolveRedisOptions(options: SpockRedisOptions): RedisTarget {
	knownMembers('option', options, [...CONNECTION_TARGET_OPTIONS, 'role']);
	const { role } = options;
	if (role !== undefined) oneOfOption('role', role, ROLES);
	return { target: new ConnectionTarget(options), role };
}

/** What is used of ioredis' own options. */
export interface RedisConnectionOptions {
	readonly connectTimeout?: number;
	readonly disconnectTimeout?: number;
	readonly family?: number;
	/** True comes from a `rediss:` URL. */
	readonly tls?: true | ConnectionOptions;
}
