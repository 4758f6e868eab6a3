// Four ways to call a service of several instances. Each gives a function that makes one call, and what ends it.
import { credentials } from '@grpc/grpc-js';
import { GrpcPool, registerSpockResolver, unary } from '@spock/grpc';

import { Employee } from './employee-service.js';

const TIMEOUT_MS = 20_000;
const insecure = credentials.createInsecure();

/** gRPC's own retry, for calls that may be made twice: up to three attempts. The same for all, as far as it helps them. */
const retryPolicy = {
	maxAttempts: 3,
	initialBackoff: '0.01s',
	maxBackoff: '0.1s',
	backoffMultiplier: 2,
	retryableStatusCodes: ['UNAVAILABLE'],
};
const withRetries = {
	'grpc.service_config': JSON.stringify({ methodConfig: [{ name: [{ service: 'staff.v1.Employee' }], retryPolicy }] }),
};

const work = (client) => unary(client, 'Work', {}, { timeoutMs: TIMEOUT_MS });

/** The way of this name. If there is none, says which there are, and ends the process. */
export function checkWay(name) {
	if (Object.hasOwn(ways, name)) return name;
	console.error(`--way must be one of ${Object.keys(ways).join(', ')}, not ${JSON.stringify(name)}`);
	process.exit(2);
}

export const ways = {
	/** As with a DNS name that has an address for each instance: grpc-js connects to the first that answers. */
	single: async (diplomat) => {
		const { instances } = await diplomat.getInstances('employee');
		const target = `ipv4:${instances.map(({ host, port }) => `${host}:${port}`).join(',')}`;
		const client = new Employee(target, insecure, withRetries);
		return { call: () => work(client), close: () => client.close() };
	},
	/** Even shares, and a connection to set up for each call: without a pool of its own the channel would use one that is there. */
	'per-request': async (diplomat) => ({
		call: async () => {
			const { host, port } = await diplomat.getService('employee');
			const client = new Employee(`${host}:${port}`, insecure, { ...withRetries, 'grpc.use_local_subchannel_pool': 1 });
			try {
				return await work(client);
			} finally {
				client.close();
			}
		},
		close: () => undefined,
	}),
	/** A channel for each instance, one of which the Diplomat picks for each call. */
	pool: async (diplomat) => {
		const pool = new GrpcPool({ diplomat, service: 'employee', Client: Employee, credentials: insecure });
		return { call: () => pool.call(work, { idempotent: true }), close: () => pool.drain() };
	},
	/** One channel, in which grpc-js shares the calls out among all instances. */
	resolver: async (diplomat) => {
		const registration = registerSpockResolver({ diplomat });
		const client = new Employee('spock:///employee', insecure, withRetries);
		const close = () => {
			client.close();
			registration.unregister();
		};
		return { call: () => work(client), close };
	},
};
