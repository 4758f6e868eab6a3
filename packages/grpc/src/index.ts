export type { GrpcModule } from './grpc-module.ts';
export { GrpcPool, type PoolCall, type PoolTools } from './grpc-pool.ts';
export { nameService } from './name-service.ts';
export {
	type ClientClass,
	DEFAULT_CHANNEL_IDLE_MS,
	type GrpcPoolOptions,
	type PoolCallOptions,
} from './pool-options.ts';
export {
	DEFAULT_SCHEME,
	registerSpockResolver,
	type SpockResolverOptions,
	type SpockResolverRegistration,
} from './register-spock-resolver.ts';
export { type UnaryOptions, unary } from './unary.ts';
