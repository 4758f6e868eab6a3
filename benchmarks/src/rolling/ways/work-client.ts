import { type ChannelOptions, Client, credentials, Metadata } from '@grpc/grpc-js';

import { WORK_SERVICE, WORK_SERVICE_NAME, type WorkReply } from '../work-service.ts';
import { RETRIES_MAX, TRY_MS_MAX } from './way.ts';

/** By default a channel shares its connections and resolver with every other one to the same target. */
const OPTIONS: ChannelOptions = {
	'grpc.use_local_subchannel_pool': 1,
	'grpc.service_config': JSON.stringify({
		loadBalancingConfig: [{ round_robin: {} }],
		methodConfig: [
			{
				name: [{ service: WORK_SERVICE_NAME }],
				// The method may be called twice: https://grpc.io/docs/guides/retry/
				retryPolicy: {
					maxAttempts: 1 + RETRIES_MAX,
					initialBackoff: '0.01s',
					maxBackoff: '0.1s',
					backoffMultiplier: 2,
					retryableStatusCodes: ['UNAVAILABLE'],
				},
			},
		],
	}),
};

/** Calls the gRPC service of the instances over one channel, which retries by itself. */
export class WorkClient {
	readonly #client: Client;
	#retries = 0;

	constructor(target: string) {
		this.#client = new Client(target, credentials.createInsecure(), OPTIONS);
	}

	/** Those before an answer: a server learns of them. */
	get retries(): number {
		return this.#retries;
	}

	/** The name of the instance that answered. */
	call(): Promise<string> {
		const { path, requestSerialize, responseDeserialize } = WORK_SERVICE['work'] as (typeof WORK_SERVICE)[string];
		const deadline = Date.now() + TRY_MS_MAX;
		return new Promise((resolve, reject) => {
			this.#client.makeUnaryRequest(
				path,
				requestSerialize,
				responseDeserialize as (bytes: Buffer) => WorkReply,
				{},
				new Metadata(),
				{ deadline },
				(error, reply) => {
					if (error !== null || reply === undefined) {
						reject(error);
						return;
					}
					this.#retries += reply.retries;
					resolve(reply.instance);
				},
			);
		});
	}

	close(): void {
		this.#client.close();
	}
}
