import { Pool } from 'undici';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';

interface HealthEntry {
	readonly Service: { readonly Address: string; readonly Port: number; readonly ID: string };
}

const ANSWER_MS_MAX = 5000;

/** What a service does without any of this: it asks Consul's HTTP API itself, kept alive. */
export function connectConsul(url: string, query: string): LoadTarget {
	// Against Consul a request now and then gets no answer at all; it must not hold its connection, and the run, for ever.
	const pool = new Pool(url, { connections: 8, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX });
	return {
		call: async () => {
			const { body } = await pool.request({ method: 'GET', path: `/v1/health/service/${SERVICE}${query}` });
			const [entry] = (await body.json()) as HealthEntry[];
			if (entry === undefined) throw new Error(`no instance of ${SERVICE}`);
			const { Address, Port, ID } = entry.Service;
			return { host: Address, port: Port, instance: ID };
		},
		close: () => pool.close(),
	};
}
