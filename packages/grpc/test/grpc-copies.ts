import * as current from '@grpc/grpc-js';
import * as before from 'grpc-js-1.13';

import type { GrpcModule } from '../src/resolver/grpc-module.ts';

/** The copies of grpc-js that everything is tested with, by version. */
export const grpcCopies: readonly (readonly [string, GrpcModule])[] = [
	['1.14', current],
	// What differs is in the types too.
	['1.13', before as unknown as GrpcModule],
];
