import { type Agent, get, type IncomingHttpHeaders } from 'node:http';

/** The part of Consul's answer that is read. */
export interface BareEntry {
	readonly Service: { readonly Port: number };
}

const WAIT_S = 55;

/** One GET over a kept connection, its JSON parsed. */
export function bareGet(
	url: string,
	agent: Agent,
	signal?: AbortSignal,
): Promise<{ readonly headers: IncomingHttpHeaders; readonly entries: readonly BareEntry[] }> {
	return new Promise((resolve, reject) => {
		get(url, { agent, ...(signal && { signal }) }, (answer) => {
			const chunks: Buffer[] = [];
			answer.on('data', (chunk: Buffer) => chunks.push(chunk));
			answer.on('error', reject);
			answer.on('end', () => {
				const text = Buffer.concat(chunks).toString();
				if (answer.statusCode === 200) resolve({ headers: answer.headers, entries: JSON.parse(text) as BareEntry[] });
				else reject(new Error(`${url} was answered ${answer.statusCode}: ${text.slice(0, 200)}`));
			});
		}).on('error', reject);
	});
}

/** What a client does that has nothing but Consul's HTTP API: the next blocking query as soon as one is answered. */
export async function followBare(
	{ url, agent, signal }: { readonly url: string; readonly agent: Agent; readonly signal: AbortSignal },
	service: string,
	saw: (service: string, port: number) => void,
): Promise<void> {
	let index = '0';
	while (!signal.aborted) {
		try {
			const query = `${url}/v1/health/service/${service}?index=${index}&wait=${WAIT_S}s&stale`;
			const { headers, entries } = await bareGet(query, agent, signal);
			index = String(headers['x-consul-index'] ?? '0');
			for (const { Service } of entries) saw(service, Service.Port);
		} catch (error) {
			if (!signal.aborted) throw error;
		}
	}
}
