export type { GrpcModule } from './grpc-module.ts';
export {
	DEFAULT_SCHEME,
	registerSpockResolver,
	type SpockResolverOptions,
	type SpockResolverRegistration,
} from './register-spock-resolver.ts';
