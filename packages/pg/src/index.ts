export { followPool, type PoolLike } from './follow-pool.ts';
export { DEFAULT_LEAVE_TIMEOUT_MS, type SpockPgOptions } from './options.ts';
export { type SpockPgConfig, spockPg } from './spock-pg.ts';
