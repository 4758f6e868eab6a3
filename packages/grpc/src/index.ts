export { nameService } from './calls/call-status.ts';
export { GrpcPool, type PoolCall, type PoolTools } from './calls/grpc-pool.ts';
export {
	type ClientClass,
	DEFAULT_CHANNEL_IDLE_MS,
	type GrpcPoolOptions,
	type PoolCallOptions,
} from './calls/pool-options.ts';
export { type UnaryOptions, unary } from './calls/unary.ts';
export type { GrpcModule } from './resolver/grpc-module.ts';
export {
	DEFAULT_SCHEME,
	registerSpockResolver,
	type SpockResolverOptions,
	type SpockResolverRegistration,
} from './resolver/register-spock-resolver.ts';
