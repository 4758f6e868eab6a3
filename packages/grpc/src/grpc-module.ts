import type * as grpcJs from '@grpc/grpc-js';

/** A copy of grpc-js: `import * as grpc from '@grpc/grpc-js'`. */
export type GrpcModule = typeof grpcJs;
