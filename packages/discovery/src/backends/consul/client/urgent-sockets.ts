import { Agent as HttpAgent } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent } from 'node:https';

/** What must never wait behind reads: `write` what registers, renews and logs in; `probe` whether an address is well. */
export type UrgentKind = 'write' | 'probe';

/** Connections of each kind to one address, besides those of all other calls: a write takes a millisecond there, and so does a probe. */
const EACH_MAX = 6;
/** Connections of all kinds together. */
export const URGENT_SOCKETS_MAX: number = 2 * EACH_MAX;

/** Connections of their own for calls that must not wait behind reads which hang. HTTP/2 needs none: it opens a further connection. */
export class UrgentSockets {
	readonly #agents: Readonly<Record<UrgentKind, HttpAgent>>;

	/** `tls`: what the connections need; undefined for plain HTTP. */
	constructor(tls: AgentOptions | undefined) {
		const create = (): HttpAgent => {
			const options = { keepAlive: true, maxSockets: EACH_MAX };
			return tls === undefined ? new HttpAgent(options) : new HttpsAgent({ ...options, ...tls });
		};
		this.#agents = { write: create(), probe: create() };
	}

	agentFor(kind: UrgentKind): HttpAgent {
		return this.#agents[kind];
	}

	/** Each connection ends with its call. */
	retire(): void {
		for (const agent of Object.values(this.#agents)) retireAgent(agent);
	}

	/** Cuts every connection. */
	destroy(): void {
		for (const agent of Object.values(this.#agents)) agent.destroy();
	}
}

/** A connection that becomes free is closed where none may be kept. */
export function retireAgent(agent: HttpAgent): void {
	agent.maxFreeSockets = 0;
	for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}
