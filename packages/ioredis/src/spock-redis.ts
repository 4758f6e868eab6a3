import { InstanceConnections } from '@spock/client/integrations';
import type { AbstractConnector } from 'ioredis';

import { InstanceConnector } from './instance-connector.ts';
import { type RedisConnectionOptions, resolveRedisOptions, type SpockRedisOptions } from './options.ts';

export type { SpockRedisOptions } from './options.ts';

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
	const { target, role } = resolveRedisOptions(options);
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
