export { type SpockRedisConfig, type SpockRedisOptions, spockRedis } from './spock-redis.ts';
