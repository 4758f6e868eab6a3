import {
	CONNECTION_TARGET_OPTIONS,
	ConnectionTarget,
	type ConnectionTargetOptions,
	InstanceConnections,
} from '@spock/client/integrations';
import { knownMembers, oneOfOption } from '@spock/protocol/internal';
import type { AbstractConnector } from 'ioredis';

import { InstanceConnector, type RedisConnectionOptions } from './instance-connector.ts';

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

/** What goes into the options of a Redis of ioredis. */
export interface SpockRedisConfig {
	readonly Connector: new (options: unknown) => AbstractConnector;
}

/**
 * Options for a Redis of ioredis, which then connects to an instance of a service, the one that the Diplomat picks:
 * `new Redis({ ...spockRedis({ diplomat, service: 'cache', tags: ['primary'] }) })`. When the instance has left the snapshot
 * the Redis reconnects: what was sent is answered, what comes meanwhile waits.
 *
 * Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST for a wrong name. Later, a connection that
 * cannot be made is an `error` event of the Redis, with a SpockError that names the service, and ioredis tries again.
 */
export function spockRedis(options: SpockRedisOptions): SpockRedisConfig {
	knownMembers('option', options, [...CONNECTION_TARGET_OPTIONS, 'role']);
	const { role } = options;
	if (role !== undefined) oneOfOption('role', role, ROLES);
	const target = new ConnectionTarget(options);
	const connections = new InstanceConnections<InstanceConnector>({
		diplomat: target.diplomat,
		leave: (connector) => connector.leave(),
	});
	return {
		/** ioredis makes one for each Redis, and gives it the Redis' options. */
		Connector: class extends InstanceConnector {
			constructor(redis: unknown) {
				super({ target, role, connections, redis: redis as RedisConnectionOptions });
			}
		},
	};
}
