export type { GrpcModule } from './grpc-module.ts';
export { type ClientClass, GrpcPool, type GrpcPoolOptions, type PoolCallOptions } from './grpc-pool.ts';
export { nameService } from './name-service.ts';
export {
	DEFAULT_SCHEME,
	registerSpockResolver,
	type SpockResolverOptions,
	type SpockResolverRegistration,
} from './register-spock-resolver.ts';
export { type UnaryOptions, unary } from './unary.ts';
