import type { ServiceDefinition } from '@grpc/grpc-js';

/** The gRPC service of an instance: one unary method, its messages in JSON. */
export const WORK_SERVICE_NAME = 'spock.bench.v1.Rolling';

/** What an instance answers. */
export interface WorkReply {
	/** The name of the instance. */
	readonly instance: string;
	/** Tries before this one, as grpc-js tells a server. */
	readonly retries: number;
}

const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const fromBytes = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

export const WORK_SERVICE: ServiceDefinition = {
	work: {
		path: `/${WORK_SERVICE_NAME}/work`,
		requestStream: false,
		responseStream: false,
		requestSerialize: toBytes,
		requestDeserialize: fromBytes,
		responseSerialize: toBytes,
		responseDeserialize: fromBytes,
	},
};
