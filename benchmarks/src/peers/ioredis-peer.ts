import { Redis } from 'ioredis';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';

/** The address as JSON under a key of a real redis-server, over a unix domain socket. */
export async function connectRedis(path: string): Promise<LoadTarget> {
	const redis = new Redis({ path, lazyConnect: true });
	await redis.connect();
	return {
		call: async () => JSON.parse((await redis.get(SERVICE)) ?? 'null') as unknown,
		close: () => redis.disconnect(),
	};
}
