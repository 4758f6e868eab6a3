// Real servers of databases, in an entry of their own: they are needed by few, and start slowly.
export { findPostgres, type RealPostgres, type RealPostgresOptions, startPostgres } from './real-postgres.ts';
export { findRedis, type RealRedis, type RealRedisOptions, startRedis } from './real-redis.ts';
